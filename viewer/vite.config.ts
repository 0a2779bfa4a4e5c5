// One script and one style sheet without names that change: attnflow/draw/page/embed.cmake puts them into the
// pages, with their hashes in the content security policy. Nothing is split off, nothing is fetched.
import { defineConfig } from "vitest/config";

export default defineConfig({
  esbuild: { jsx: "automatic", jsxImportSource: "preact" },
  resolve: { alias: { "d3-transition": new URL("src/views/no_transitions.ts", import.meta.url).pathname } },
  build: {
    outDir: "dist",
    target: "es2022",
    cssCodeSplit: false,
    assetsInlineLimit: Number.MAX_SAFE_INTEGER,
    reportCompressedSize: false,
    modulePreload: false,
    rollupOptions: {
      input: "src/main.tsx",
      output: {
        format: "es",
        entryFileNames: "viewer.js",
        assetFileNames: "viewer[extname]",
        inlineDynamicImports: true,
      },
    },
  },
  test: {
    maxWorkers: "100%",
    projects: [
      { extends: true, test: { name: "numbers", include: ["test/*.test.ts", "test/*.test.tsx"] } },
      {
        extends: true,
        test: {
          name: "components",
          include: ["test/dom/*.test.ts"],
          environment: "happy-dom",
          setupFiles: "test/dom/setup.ts",
          testTimeout: 30_000,
        },
      },
    ],
  },
});
