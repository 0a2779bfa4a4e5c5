// A backend built for another version of attnflow; the loader's test opens it.

struct OldBackend {
  const char* abi;
};

extern "C" const OldBackend* attnflow_backend() {
  static constexpr OldBackend backend = {"attnflow 0.0.1, backend abi 0"};
  return &backend;
}
