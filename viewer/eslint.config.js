import js from "@eslint/js";
import ts from "typescript-eslint";

export default ts.config({ ignores: ["dist", "node_modules"] }, js.configs.recommended, ...ts.configs.recommended, {
  rules: {
    eqeqeq: "error",
    "@typescript-eslint/no-explicit-any": "error",
    // tsc says it, too, and knows more.
    "no-undef": "off",
  },
});
