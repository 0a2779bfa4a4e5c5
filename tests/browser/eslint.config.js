import js from "@eslint/js";

const names = (text) => Object.fromEntries(text.split(" ").map((name) => [name, "readonly"]));

// The page's scripts are put together into one module when attnflow is built (attnflow/draw/page/embed.cmake), so what
// one defines at its top level the next may use.
const page = names(
  "atob addEventListener clearInterval document getComputedStyle Event HTMLElement Image ImageData innerWidth matchMedia " +
    "setInterval TextDecoder TextEncoder",
);
const shared = names(
  "METHODS ReportData Colours html svg own shorten format maximum heatMap matrix flowGraph referentTable candidateShares " +
    "visible hatching measure tokenLabel GenerationData marked percent textStrip cellMap choiceBars settingsRows " +
    "ImageReport paintMap makeStage paintPhoto thumbnail patchGrid shareBar predictionSections imageSettings",
);

export default [
  js.configs.recommended,
  { rules: { eqeqeq: "error", "no-var": "error", "prefer-const": "error" } },
  {
    files: ["page/*.js"],
    languageOptions: { sourceType: "script", globals: { ...page, ...shared } },
    rules: { "no-redeclare": ["error", { builtinGlobals: false }], "no-unused-vars": ["error", { vars: "local" }] },
  },
  {
    files: ["*.js"],
    languageOptions: {
      globals: {
        ...page,
        ...names(
          "Buffer clearTimeout console DataTransfer dispatchEvent DOMParser fetch File location MessageChannel MutationObserver navigator " +
            "performance PerformanceObserver process requestAnimationFrame scrollTo setTimeout URL window",
        ),
      },
    },
  },
];
