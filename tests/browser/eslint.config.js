import js from "@eslint/js";

const names = (text) => Object.fromEntries(text.split(" ").map((name) => [name, "readonly"]));

export default [
  js.configs.recommended,
  { rules: { eqeqeq: "error", "no-var": "error", "prefer-const": "error" } },
  {
    files: ["*.js"],
    languageOptions: {
      globals: {
        ...names(
          "AbortController addEventListener clearInterval document getComputedStyle Event HTMLElement Image ImageData innerWidth matchMedia " +
            "setInterval TextDecoder TextEncoder",
        ),
        ...names(
          "Buffer clearTimeout console DataTransfer dispatchEvent DOMException DOMParser fetch File history location MessageChannel MutationObserver navigator " +
            "performance PerformanceObserver process requestAnimationFrame scrollTo setTimeout URL URLSearchParams window",
        ),
      },
    },
  },
];
