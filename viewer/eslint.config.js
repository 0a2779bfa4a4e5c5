import js from "@eslint/js";
import ts from "typescript-eslint";

const FOREIGN = "Reports hold texts from anyone: make elements, set textContent.";

export default ts.config({ ignores: ["dist", "node_modules"] }, js.configs.recommended, ...ts.configs.recommended, {
  rules: {
    eqeqeq: "error",
    "@typescript-eslint/no-explicit-any": "error",
    "no-restricted-syntax": [
      "error",
      ...[
        "MemberExpression[property.name=/^(innerHTML|outerHTML|insertAdjacentHTML|setHTMLUnsafe|srcdoc)$/]",
        "MemberExpression[property.value=/^(innerHTML|outerHTML|insertAdjacentHTML|setHTMLUnsafe|srcdoc)$/]",
        "MemberExpression[object.name='document'][property.name=/^(write|writeln)$/]",
        "JSXAttribute[name.name=/^(dangerouslySetInnerHTML|srcdoc|srcDoc)$/]",
        "Property[key.name='dangerouslySetInnerHTML']",
      ].map((selector) => ({ selector, message: FOREIGN })),
    ],
    // tsc says it, too, and knows more.
    "no-undef": "off",
  },
});
