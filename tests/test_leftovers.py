"""States that a training has computed with its final weights, which it leaves for the job that stores those of drawn words."""

import shutil

import pytest
from conftest import LANGUAGES, NLI, UPOS
from crosslens.config.draws import Draw, Draws
from crosslens.encoding import dump, extract, leftovers
from crosslens.encoding.drawn import write as write_draws
from crosslens.recipes import Recipe
from crosslens.storage.seals import seal
from crosslens.training.run import run
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from test_training import inference, recipe

RECIPES = {
    "words": recipe(),
    "words, bfloat16": recipe(precision="bfloat16"),
    "words, nothing trains the encoder": recipe("frozen"),
    "texts": inference(),
    "texts, bfloat16": inference(precision="bfloat16"),
    "texts, pooler": inference(state="pooler"),
}


class Study:
    """A training that has left states, and what is drawn: of texts on which it was scored, or on which its last stage learns."""

    def __init__(self, bench, tokens, folder, log):
        self.encoders, self.tokens, self.folder, self.log = (bench.encoder_folder, bench.pooler_folder), tokens, folder, log

    def encoder(self, of: Recipe):
        return self.encoders[of.units.state == "pooler"]

    def corpora(self, *names):
        return {name: self.tokens / name for name in names}

    def draws(self, of: Recipe, **changes) -> Draws:
        unit, labels = of.units.unit, UPOS if of.units.unit == "word" else NLI
        corpus = "sentences" if unit == "word" else "pairs"
        drawn = {
            corpus: Draw(languages=LANGUAGES, random_words={"test": 12}, sample_per_label=2, **changes),
            "paragraphs": Draw(languages=LANGUAGES, random_words={"train": 3}, **changes),
        }
        return Draws(encoder="tiny", reading="whole", unit=unit, labels=labels, corpora=drawn)

    def train(self, of: Recipe, **options):
        corpora = self.corpora(*{data.corpus for data in of.data()} | {"sentences"})
        run(of, 0, self.encoder(of), corpora, self.folder / "seed0", threads=1, log=self.log, leaves_states=True, **options)

    def store(self, of: Recipe, output: str, draws: Draws | None = None, **changes) -> dict[str, bytes]:
        """Store states and return the files by name."""
        draws = draws or self.draws(of)
        corpora, states = self.corpora(*draws.corpora), self.folder / output
        write_draws(draws, corpora, self.folder / "draws")
        options = {"layers": [], "units": of.units, "precision": "float32", "dtype": "float32"} | changes
        weights = [self.folder / "seed0/model.safetensors"]
        dump.run(
            self.encoder(of), weights, self.folder / "draws", corpora, states, draws=draws, threads=1, log=self.log, **options
        )
        return {str(path.relative_to(states)): path.read_bytes() for path in states.glob("*/*.parquet")}

    def left(self) -> list[str]:
        return [path.name for path in (self.folder / "seed0").iterdir() if "states" in path.name]


@pytest.fixture
def study(bench, tokens, tmp_path, log) -> Study:
    return Study(bench, tokens, tmp_path, log)


@pytest.fixture(scope="module")
def trained(bench, tokens, tmp_path_factory):
    """Folder of a training that has left states."""
    study = Study(bench, tokens, tmp_path_factory.mktemp("trained"), None)
    study.log = __import__("logging").getLogger("crosslens.tests")
    study.train(RECIPES["words"])
    return study.folder


@pytest.fixture
def copy(study, trained) -> Study:
    shutil.copytree(trained / "seed0", study.folder / "seed0")
    return study


@pytest.fixture
def loads(monkeypatch) -> list[object]:
    """Encoders that are loaded to store states."""
    encoders, original = [], dump.load_encoder
    monkeypatch.setattr(dump, "load_encoder", lambda *given, **options: encoders.append(given) or original(*given, **options))
    return encoders


@pytest.mark.parametrize("name", RECIPES)
def test_states_are_the_same_bytes_with_and_without_those_that_were_left(study, loads, name):
    study.train(RECIPES[name])
    left = study.store(RECIPES[name], "left")
    assert not loads and not study.left()
    assert study.store(RECIPES[name], "encoded") == left
    assert len(loads) == 1 and len(left) == 2 * len(LANGUAGES)
