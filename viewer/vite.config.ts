// One script and one style sheet without names that change: attnflow/draw/page/embed.cmake puts them into the
// pages, with their hashes in the content security policy. Nothing is split off, nothing is fetched. Mode "cell" builds
// the page of a notebook's cell beside the whole one.
import { defineConfig } from "vitest/config";

const here = (path: string) => new URL(path, import.meta.url).pathname;

export default defineConfig(({ mode }) => ({
  esbuild: { jsx: "automatic", jsxImportSource: "preact" },
  resolve: {
    alias: [
      { find: "d3-transition", replacement: here("src/views/no_transitions.ts") },
      ...(mode === "cell" ? [{ find: "./zoom", replacement: here("src/views/no_zoom.ts") }] : []),
    ],
  },
  build: {
    outDir: "dist",
    target: "es2022",
    cssCodeSplit: false,
    assetsInlineLimit: Number.MAX_SAFE_INTEGER,
    reportCompressedSize: false,
    modulePreload: false,
    rollupOptions: {
      input: mode === "cell" ? "src/cell.tsx" : "src/main.tsx",
      output: {
        format: "es",
        entryFileNames: mode === "cell" ? "cell.js" : "viewer.js",
        assetFileNames: mode === "cell" ? "cell[extname]" : "viewer[extname]",
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
}));
