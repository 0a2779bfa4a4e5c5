"""What the scripts of this folder share: options, running the program, writing results.

Every script finds the program in build/release (./dev build), in ATTNFLOW, or on the path, and attnflow-train, which
trains models, in ATTNFLOW_TRAIN or beside it; and the data, which a clone does not hold, by --data or
ATTNFLOW_SHARED_DATA: a folder with prose/ (text files) and sst2/ (train.tsv, dev.tsv, test.tsv). Results go to --out.
"""

import argparse
import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
OUT = ROOT / "build" / "experiments"
MODEL = ROOT / "models" / "agreement"  # the folder, not the copy in the program: another may take its place


class ExperimentError(Exception):
    pass


def parser(doc):
    result = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    result.add_argument("--out", type=Path, default=OUT, help="folder of the results (%(default)s)")
    result.add_argument("--program", help="attnflow (ATTNFLOW, else build/release/bin, else the path)")
    return result


def add_data(arguments):
    arguments.add_argument(
        "--data",
        type=Path,
        default=os.environ.get("ATTNFLOW_SHARED_DATA"),
        help="folder that holds prose/ and sst2/ (ATTNFLOW_SHARED_DATA)",
    )


def add_model(arguments, default=MODEL, what="the classifier"):
    arguments.add_argument("--model", default=default, help=f"folder of {what} (%(default)s)")


def add_formats(arguments):
    arguments.add_argument("--formats", default="svg,pdf", help="endings of the pictures (%(default)s)")


def data_folder(arguments, name):
    """The folder `name` of the data; an error that says what is missing."""
    if not arguments.data:
        raise ExperimentError(f"expected --data FOLDER or ATTNFLOW_SHARED_DATA, a folder that holds {name}/")
    folder = Path(arguments.data) / name
    if not folder.is_dir():
        raise ExperimentError(f"expected the folder {folder}, found none; --data names the folder that holds {name}/")
    return folder


def inside(path):
    """A path as the documents show it: relative to where the command runs, when that is near."""
    relative = os.path.relpath(path)
    return str(path) if relative.startswith(f"..{os.sep}..") else relative


class Program:
    def __init__(self, arguments):
        self.out = arguments.out
        built = ROOT / "build" / "release" / "bin" / "attnflow"
        chosen = arguments.program or os.environ.get("ATTNFLOW") or (str(built) if built.exists() else "attnflow")
        found = shutil.which(chosen)
        if found is None:
            raise ExperimentError(
                f"expected the program {chosen}, found none; ./dev build makes it, --program names it"
            )
        self.path = found
        self.trainer = os.environ.get("ATTNFLOW_TRAIN") or str(Path(found).resolve().with_name("attnflow-train"))
        self.out.mkdir(parents=True, exist_ok=True)

    def run(self, *words):
        """Runs `attnflow WORDS`, its messages going to standard error; returns the command and its seconds."""
        shown, seconds, _ = self._run(self.path, words, subprocess.DEVNULL)
        return shown, seconds

    def printed(self, *words):
        """The same; returns the command and what it prints on standard output."""
        shown, _, output = self._run(self.path, words, subprocess.PIPE)
        return shown, output

    def train(self, *words):
        """Runs `attnflow-train WORDS`, its messages going to standard error."""
        if shutil.which(self.trainer) is None:
            raise ExperimentError(
                f"expected attnflow-train in {self.trainer}, found none; cmake -DATTNFLOW_TRAINING=ON builds it, "
                "ATTNFLOW_TRAIN names it"
            )
        self._run(self.trainer, words, subprocess.DEVNULL)

    def _run(self, program, words, stdout):
        words = [str(word) for word in words]
        shown = f"{Path(program).name} " + " ".join(
            f"'{word}'" if set(word) & set(" []()?*'") else word for word in words
        )
        print(f"$ {shown}", file=sys.stderr, flush=True)
        begin = time.monotonic()
        result = subprocess.run([program, *words], stdin=subprocess.DEVNULL, stdout=stdout, text=True, encoding="utf-8")
        if result.returncode != 0:
            raise ExperimentError(f"{shown} ended with {result.returncode}")
        return shown, time.monotonic() - begin, result.stdout

    def explain(self, text, names, *options):
        """`attnflow explain TEXT`, by default over the paper's attention, into the files NAMES of the output folder."""
        outputs = [word for name in names for word in ("-o", inside(self.out / name))]
        mixing = [] if "--mixing" in options else ["--mixing", "attention"]
        self.run("explain", text, *options, *mixing, *outputs)
        for name in names:
            print(inside(self.out / name))

    def evaluate(self, name, *words):
        """The JSON of `attnflow evaluate WORDS`, kept as NAME.json, with its command and seconds."""
        path = self.out / f"{name}.json"
        others = busy()
        command, seconds = self.run("evaluate", *words, "-o", inside(path))
        print(inside(path))
        return read_json(path) | {"command": command, "seconds": seconds, "busy": others}

    def trained(self, name, *words):
        """The folder of the model NAME, trained with `attnflow-train WORDS` unless it is there."""
        folder = self.out / name
        if (folder / "README.md").exists():  # written last
            print(f"{inside(folder)}: already trained", file=sys.stderr)
        else:
            self.train(*words, "-o", inside(folder))
            print(inside(folder))
        return folder


def held_out_prefixes(program, arguments):
    """The prefixes of the prose that the verb-number model was not trained on, as a file of samples."""
    path = program.out / "prefixes.tsv"
    prose = inside(data_folder(arguments, "prose"))
    program.train("prefixes", "--prose", prose, "--model", inside(MODEL), "-o", inside(path))
    print(inside(path))
    return inside(path)


def untrained_model(program, prose):
    """The architecture and the vocabulary of the verb-number model with its first, random weights."""
    steps = ["--masked-steps", 0, "--steps", 0]
    return program.trained("untrained", "agreement", "--prose", inside(prose), "--seed", 1, *steps)


BERT_BASE = ROOT / ".cache" / "models" / "bert-base-uncased"


def sentiment_model(program, sst2, pretrained=False):
    """A DistilBERT trained on sentences with labels alone, or begun from every other layer of BERT-base."""
    files = ["--data", "train", "--validation", "dev", "--test", "test"]
    words = [word if word.startswith("--") else inside(sst2 / f"{word}.tsv") for word in files]
    if not pretrained:
        return program.trained("sentiment", "sentiment", *words, "--seed", 1)
    if not (BERT_BASE / "config.json").exists():
        raise ExperimentError(f"expected BERT-base in {BERT_BASE}, found none; tools/fetch_bert_base fetches it")
    return program.trained(
        "sentiment-pretrained", "sentiment", *words, "--seed", 1, "--init-from-bert", inside(BERT_BASE)
    )


MODELS = ROOT / ".cache" / "models"
SMOLLM2 = MODELS / "smollm2" / "SmolLM2-135M-Instruct.Q4_1.gguf"
DECODERS = {"smollm2": 30, "qwen2.5-0.5b": 24, "qwen2.5-1.5b": 28, "gemma3-270m": 18}  # and their layers


class DecoderFile(NamedTuple):
    name: str
    file: Path
    layers: int


def add_decoders(arguments):
    arguments.add_argument("--models", default=",".join(DECODERS), help="of tools/fetch_decoder (%(default)s)")


def decoders(arguments):
    """The files of --models, all of them, before anything runs."""
    found = []
    for name in arguments.models.split(","):
        if name not in DECODERS:
            raise ExperimentError(f"expected names among {', '.join(DECODERS)}, found {name}")
        files = sorted((MODELS / name).glob("*.gguf"))
        if len(files) != 1:
            raise ExperimentError(
                f"expected the model {name} in {inside(MODELS / name)}, found {len(files)} files; "
                f"tools/fetch_decoder {name} fetches it"
            )
        found.append(DecoderFile(name, files[0], DECODERS[name]))
    return found


def add_decoder(arguments):
    arguments.add_argument(
        "--gguf",
        type=Path,
        default=os.environ.get("ATTNFLOW_SMOLLM2") or SMOLLM2,
        help="the decoder (ATTNFLOW_SMOLLM2, else where tools/fetch_decoder puts SmolLM2)",
    )


@contextlib.contextmanager
def decoder_folder(program, arguments):
    """The decoder as a Hugging Face folder, for as long as it is used: half a gigabyte."""
    if not arguments.gguf.is_file():
        raise ExperimentError(f"expected the model {arguments.gguf}, found none; tools/fetch_decoder fetches it")
    folder = program.out / "smollm2"
    if not (folder / "config.json").exists():
        program.run("model", inside(arguments.gguf), "-o", inside(folder))
    try:
        yield inside(folder)
    finally:
        shutil.rmtree(folder)


def evidence_runs(program, arguments, prefix, *words):
    """The JSON of `attnflow evaluate evidence` of each file of sentences, by its name."""
    files = sorted(data_folder(arguments, "evidence").glob("*.csv"))
    if not files:
        raise ExperimentError("expected *.csv in the folder evidence, found none")
    runs = {}
    with decoder_folder(program, arguments) as model:
        for file in files:
            common = ["evidence", "--model", model, "--data", inside(file), "--samples", arguments.samples]
            common += ["--seed", 1, "--begin", "<|im_start|>"]
            name = file.stem.replace("_1", "").replace("_", " ")
            runs[name] = program.evaluate(f"{prefix}-{file.stem}", *common, *words)
    return runs


def evidence_rows(run):
    """The cells that are compared, by what a row is called: aggregations of the last layer as they are, and scores."""
    rows = {}
    last = run["model"]["layers"]
    for cell in run["cells"]:
        if cell["mixing"] is None:
            rows[cell["method"]] = cell
        elif cell["layer"] == last and cell["variant"] == "as it is":
            rows[f"{cell['method']} over {cell['mixing']}"] = cell
    return rows


def read_json(path):
    return json.loads(Path(path).read_text(encoding="utf-8"))


def write(path, text):
    """Writes `path` whole or not at all, and says so."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(text, encoding="utf-8")
    os.replace(temporary, path)
    print(inside(path))


def table(head, rows):
    """A Markdown table, the first column to the left, the others to the right."""
    cells = [[str(cell) for cell in row] for row in (head, *rows)]
    widths = [max(3, *(len(row[c]) for row in cells)) for c in range(len(head))]

    def line(row):
        pairs = enumerate(zip(row, widths, strict=True))
        return "| " + " | ".join(cell.ljust(w) if c == 0 else cell.rjust(w) for c, (cell, w) in pairs) + " |"

    rule = ["-" * w if c == 0 else "-" * (w - 1) + ":" for c, w in enumerate(widths)]
    return "\n".join([line(cells[0]), f"| {' | '.join(rule)} |", *map(line, cells[1:])]) + "\n"


def fixed(value, places=2, sign=""):
    """A number with so many places, and never a minus before nothing: "0.00" for -0.001. `sign` "+": always signed."""
    text = f"{value:{sign}.{places}f}"
    return text.replace("-", "+" if sign else "", 1) if text.strip("-0.") == "" else text


def interval(summary, places=2):
    """The mean with its interval, which a mean of few samples has not."""
    mean = fixed(summary["mean"], places)
    if summary["low"] is None:
        return mean
    return f"{mean} ({fixed(summary['low'], places)} to {fixed(summary['high'], places)})"


def machine():
    """The processor's name and how many there are."""
    names = [line.split(":", 1)[1].strip() for line in cpu_lines() if line.startswith("model name")]
    return f"{len(os.sched_getaffinity(0))} processors, {names[0] if names else 'of unknown kind'}"


def busy():
    """Whether other work ran on the machine in the last minute, so that a time says little."""
    return os.getloadavg()[0] > 0.5


def run_time(found):
    return f"{found['seconds']:.0f} s" + (", beside other work" if found["busy"] else "")


def cpu_lines():
    try:
        return Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return []


def main(body):
    """Ends the script with body's status; a failure that was foreseen is one line."""
    try:
        sys.exit(body())
    except ExperimentError as error:
        sys.exit(f"{Path(sys.argv[0]).name}: {error}")
