"""The OpenAPI document compared with the server: its paths, its fields, real answers, and schemathesis's checks.

Needs schemathesis, which includes jsonschema_rs; `./dev test serve` makes the environment.
"""

import copy
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import jsonschema_rs
from support import LLAMA, MASKED, MASKED_TEXT, ROOT, TEXT, ServerTest, png, run_program

SECONDS = int(os.environ.get("ATTNFLOW_FUZZ_SECONDS", "60"))
ERRORS = {
    400: "Wrong",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    408: "Timeout",
    413: "TooLarge",
    415: "UnsupportedMediaType",
    421: "Misdirected",
    422: "Unprocessable",
    503: "Busy",
}
METHODS = ("GET", "POST", "PUT", "DELETE", "PATCH")
CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "negative_data_rejection",
)

NO_FIELD = r"expected a known field, found \"no_such_field\" \(fields: (.*)\)"


class OpenApiTest(ServerTest):
    ARGUMENTS = ("--model", MASKED, "--model", LLAMA)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.document = cls.server.get("/api/v1/openapi.json").json()

    def schema(self, name: str) -> dict:
        return {"$ref": f"#/components/schemas/{name}", "components": copy.deepcopy(self.document["components"])}

    def validate(self, name: str, value) -> None:
        jsonschema_rs.Draft202012Validator(self.schema(name)).validate(value)

    def is_valid(self, name: str, value) -> bool:
        return jsonschema_rs.Draft202012Validator(self.schema(name)).is_valid(value)

    def written_out(self, part):
        """Expands openapi.json's abbreviations (attnflow/serve/openapi.cc), except for the options."""
        if isinstance(part, list):
            return [self.written_out(one) for one in part]
        if not isinstance(part, dict):
            return part
        whole = {}
        for key, value in part.items():
            if key == "x-errors":
                whole.update({str(status): {"$ref": f"#/components/responses/{ERRORS[status]}"} for status in value})
            elif key == "content" and isinstance(value, str):
                whole[key] = {"application/json": {"schema": {"$ref": f"#/components/schemas/{value}"}}}
            elif key == "required" and value == "all":
                whole[key] = list(part["properties"])
            else:
                whole[key] = self.written_out(value)
        return whole

    def test_the_document_is_the_one_of_the_sources(self):
        """Except for the options, which replace "x-options"."""
        text = (ROOT / "attnflow" / "serve" / "openapi.json").read_text()
        version = run_program("--version").decode().split()[0]
        source = self.written_out(json.loads(text.replace("@VERSION@", version)))
        document = copy.deepcopy(self.document)
        expanded = 0
        for name, schema in source["components"]["schemas"].items():
            if schema.pop("x-options", None) is None:
                continue
            shown = document["components"]["schemas"][name]["properties"]
            settings = {field for field in shown if field not in schema["properties"]}
            self.assertIn("residual", settings)
            for field in settings:
                del shown[field]
            expanded += 1
        for path, operations in source["paths"].items():
            for method, operation in operations.items():
                parameters = operation.get("parameters", [])
                if not any("x-options" in parameter for parameter in parameters):
                    continue
                kept = [parameter for parameter in parameters if "x-options" not in parameter]
                names = {parameter["name"] for parameter in kept}
                shown = document["paths"][path][method]
                self.assertIn("residual", {parameter["name"] for parameter in shown["parameters"]} - names)
                shown["parameters"] = [one for one in shown["parameters"] if one["name"] in names]
                operation["parameters"] = kept
                expanded += 1
        self.assertEqual(expanded, 4)
        self.assertEqual(document, source)
        for schema in self.document["components"]["schemas"].values():
            self.assertTrue(jsonschema_rs.meta.is_valid(schema))

    def test_paths_and_methods_are_those_of_the_server(self):
        for path, operations in self.document["paths"].items():
            described = {method.upper() for method in operations}
            for method in METHODS:
                answer = self.server.ask(method, path, b"", {"Content-Type": "application/json"})
                if method in described:
                    self.assertNotIn(answer.status, (404, 405), f"{method} {path}")
                else:
                    self.assertEqual(answer.status, 405, f"{method} {path}")
                    self.assertEqual(set(answer.headers["Allow"].split(", ")) - {"HEAD"}, described)
        # And conversely: everything that the sources route is described.
        source = (ROOT / "attnflow" / "serve" / "api.cc").read_text()
        routes = set(re.findall(r'\{"([A-Z]+)", "(/[^"]*)"', source))
        self.assertGreater(len(routes), 5)
        described = {(method.upper(), path) for path, ops in self.document["paths"].items() for method in ops}
        self.assertEqual(routes, described)

    def test_fields_are_those_of_the_server(self):
        for path, name, text in (
            ("explain", "ExplainRequest", "text"),
            ("generate", "GenerateRequest", "prompt"),
            ("evaluate", "EvaluateRequest", "text"),
        ):
            described = set(self.document["components"]["schemas"][name]["properties"])
            message = self.server.post(path, {text: "a", "no_such_field": 1}).message
            listed = re.fullmatch(NO_FIELD, message)[1].split(", ")
            self.assertEqual(described, set(listed))
        query = self.document["paths"]["/api/v1/image"]["post"]["parameters"]
        answer = self.server.ask("POST", "/api/v1/image?no_such_field=1", png(), {"Content-Type": "image/png"})
        listed = re.fullmatch(NO_FIELD, answer.message)[1].split(", ")
        self.assertEqual({parameter["name"] for parameter in query}, set(listed))

    def test_defaults_are_those_of_the_server(self):
        properties = self.document["components"]["schemas"]["ExplainRequest"]["properties"]
        said = {name: schema["default"] for name, schema in properties.items() if "default" in schema}
        ask = {"text": TEXT, "model": "agreement"}
        self.assertEqual(self.server.post("explain", ask | said).body, self.server.post("explain", ask).body)
        self.assertGreater(len(said), 10)

    def test_real_answers_fit(self):
        server = self.server
        self.validate("Health", server.health())
        self.validate("Models", server.get("/api/v1/models").json())
        for ask in (
            {"text": TEXT, "model": "agreement", "keep_attention": True},
            {"text": TEXT, "model": "agreement", "compact": True, "mixing": "gradient"},
            {"text": MASKED_TEXT, "candidates": ["key"]},
            {"text": "The author", "model": LLAMA.name, "only_output_token": True},
        ):
            self.assertTrue(self.is_valid("ExplainRequest", ask))
            self.validate("Report", server.post("explain", ask).json())
        self.validate("Report", server.post("generate", {"prompt": "The author", "tokens": 3}).json())
        ask = {"prompt": "The author", "tokens": 3, "generated_columns": True}
        for name, data in server.post("generate", ask, accept="text/event-stream").events():
            if name in ("prompt", "token"):
                self.validate({"prompt": "GenerationPrompt", "token": "GenerationToken"}[name], data)
        self.validate("Report", server.ask("POST", "/api/v1/image", png(), {"Content-Type": "image/png"}).json())
        for ask in ({"text": TEXT, "model": "agreement"}, {"text": MASKED_TEXT}, {"text": "a", "model": LLAMA.name}):
            self.validate("Evaluation", server.post("evaluate", ask).json())

    def test_errors_fit_and_are_described(self):
        server = self.server
        for path, answer in (
            ("/api/v1/explain", server.post("explain", {})),
            ("/api/v1/explain", server.post("explain", {"text": "a", "model": "x"})),
            ("/api/v1/explain", server.post("explain", b"x" * 2_000_000)),
            ("/api/v1/explain", server.post("explain", {}, Host="x")),
            ("/api/v1/explain", server.post("explain", {}, Origin="x")),
            ("/api/v1/explain", server.post("explain", {}, **{"Content-Type": "x"})),
            ("/api/v1/image", server.ask("POST", "/api/v1/image", b"x", {"Content-Type": "image/png"})),
        ):
            self.validate("Error", answer.json())
            self.assertIn(str(answer.status), self.document["paths"][path]["post"]["responses"])
        self.validate("Error", server.get("/nothing").json())

    def test_schemathesis(self):
        """Requests that match the document and others that do not: no 5xx, and every answer as described."""
        with tempfile.TemporaryDirectory() as folder:
            # Unknown model names are tested elsewhere.
            document = copy.deepcopy(self.document)
            schemas = document["components"]["schemas"]
            for name, models in (
                ("ExplainRequest", [MASKED.name, "agreement", LLAMA.name]),
                ("EvaluateRequest", [MASKED.name, "agreement"]),
                ("GenerateRequest", [LLAMA.name]),
            ):
                schemas[name]["properties"]["model"] = {"enum": models}
            schema = Path(folder) / "openapi.json"
            schema.write_text(json.dumps(document))
            # One worker: Python 3.11's ast.parse, which hypothesis calls, occasionally fails in two threads at once.
            command = [
                *(str(Path(sys.executable).parent / "schemathesis"), "run", str(schema)),
                *("--url", f"http://127.0.0.1:{self.server.port}"),
                *("--checks", ",".join(CHECKS)),
                *("--max-time", str(SECONDS), "--workers", "1", "--seed", "1", "--no-color"),
                *("--request-timeout", "60", "--generation-database", "none"),
            ]
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=SECONDS * 4 + 120)
        self.assertEqual(done.returncode, 0, done.stdout[-6000:] + done.stderr[-2000:])
        self.assertRegex(done.stdout, r"[1-9]\d* generated", done.stdout[-3000:])
        self.assertEqual(self.server.health()["status"], "ok")


if __name__ == "__main__":
    unittest.main()
