// Who may import whom. Types count, too: a module that needs another's types cannot be read without it.
export default {
  forbidden: [
    {
      name: "no-circles",
      comment: "Move what both need into a module below them.",
      severity: "error",
      from: {},
      to: { circular: true },
    },
    {
      name: "numbers-know-no-views",
      comment: "What is computed and chosen is drawn by others (README.md).",
      severity: "error",
      from: { path: "^src/(report|color|compute)/|^src/(state|explanation|context)\\.ts$" },
      to: { path: "^src/(components|views|generation|server|export)/|^src/[^/]+\\.tsx$" },
    },
  ],
  options: {
    doNotFollow: { path: "node_modules" },
    tsConfig: { fileName: "tsconfig.json" },
    tsPreCompilationDeps: true,
  },
};
