"""Recomputes the check of a text's embedding with transformers.

    embedding_oracle.py MODEL_FOLDER EXPLANATION.json [cls]

The file is the output of `attnflow explain --check always` for an encoder without a head. Each of its replacements is put
into the text here, and the cosine between the pooled last hidden states (their mean; with "cls", the first) with and
without it is compared with the value in the file. A replacement that reads like several tokens may be any of them. Prints
the largest difference; exits with status 1 if it is above TOLERANCE.
"""

import json
import sys
from pathlib import Path

import torch
import transformers
from methods_oracle import vocabulary

# The program computes in float32.
TOLERANCE = 1e-5


def main():
    folder, report_file = map(Path, sys.argv[1:3])
    first = sys.argv[3:] == ["cls"]
    model = transformers.AutoModel.from_pretrained(folder).double().eval()
    report = json.loads(report_file.read_text(encoding="utf-8"))
    index = vocabulary(folder)
    tokens = [token for token in report["input"]["tokens"] if token.get("role") != "mean"]
    ids = [index[token["text"]] for token in tokens]

    def embedded(ids):
        with torch.no_grad():
            states = model(input_ids=torch.tensor([ids])).last_hidden_state[0]
        return states[0] if first else states.mean(0)

    whole = embedded(ids)
    largest, count = abs(report["check"]["value"] - 1.0), 0
    for token in report["check"]["tokens"]:
        for one in token["replacements"]:
            differences = []
            for spelled in (one["text"], f"##{one['text']}"):
                if spelled in index:
                    changed = [*ids[: token["token"]], index[spelled], *ids[token["token"] + 1 :]]
                    cosine = torch.cosine_similarity(embedded(changed), whole, dim=0).item()
                    differences.append(abs(cosine - one["value"]))
            largest, count = max(largest, min(differences)), count + 1
    print(f"{count} replacements: {largest:.1e}")
    sys.exit(int(count == 0 or not largest < TOLERANCE))


if __name__ == "__main__":
    main()
