// A backend that was built for another version of attnflow; the loader's test opens it.

extern "C" const char* attnflow_backend_abi() { return "attnflow 0.0.1, backend abi 0"; }

extern "C" void attnflow_backend_create_encoder() {}
