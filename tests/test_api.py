"""The functions for notebooks: the page's code block, scikit-learn's contract, and what they compute beside transformers."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch
from conftest import refused, write_states
from crosslens.api import LanguageSubspace, Probe, cka, encode, load_encoder, read_records, read_states
from crosslens.jobs import parquet
from crosslens.jobs.checksums import write_checksums
from crosslens.measures.shared.cka import OURS
from crosslens.numerics.probe import logistic_probe
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from study import REPOSITORY
from transformers import AutoModel, AutoModelForMaskedLM, PreTrainedTokenizerFast

GENERATOR = np.random.default_rng(0)
X, Y = GENERATOR.normal(size=(60, 4)) + np.repeat(np.eye(3, 4), 20, 0), np.repeat(["de", "en", "fr"], 20)


def test_the_code_of_the_page_runs(encoder_folder: Path, tmp_path: Path, monkeypatch, capsys) -> None:
    (code,) = re.findall("```python\n(.*?)```", (REPOSITORY / "docs/api.md").read_text("utf-8"), re.DOTALL)
    assert len([line for line in code.splitlines() if line]) <= 10
    monkeypatch.chdir(tmp_path)
    Path("my-encoder").symlink_to(encoder_folder)
    for language in ("de", "en"):
        file = Path(f"results/demo/states/tanti2021/pos/untrained/seed0/udpos/{language}.parquet")
        write_states(file, {"layer_2": X[Y == language].astype(np.float32)}, [str(number) for number in range(20)])
    write_checksums(Path("results/demo/states/tanti2021/pos/untrained/seed0"))
    file = Path("results/demo/measures/probes/tanti2021/pos/untrained/seed0.parquet")
    file.parent.mkdir(parents=True)
    parquet.write(pa.table({"measure": ["probe"], "value": [0.5]}), file)
    exec(code, {})
    assert capsys.readouterr().out.endswith("(2, 4) (1, 2)\n")


def test_states_are_those_of_transformers_without_special_subwords(encoder_folder: Path, tmp_path: Path) -> None:
    """Also of a model with a head."""
    sentences = ["the dog sleeps", "a", "rain fell all night and the next day"]
    states = encode(load_encoder(encoder_folder), sentences)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(encoder_folder / name, tmp_path)
    AutoModelForMaskedLM.from_pretrained(encoder_folder).save_pretrained(tmp_path)
    assert np.array_equal(encode(load_encoder(tmp_path), sentences), states)
    model, tokenizer = AutoModel.from_pretrained(encoder_folder), PreTrainedTokenizerFast.from_pretrained(encoder_folder)
    for number, sentence in enumerate(sentences):
        with torch.inference_mode():
            layers = model(**tokenizer(sentence, return_tensors="pt"), output_hidden_states=True).hidden_states
        expected = np.stack([layer[0, 1:-1].mean(0).numpy() for layer in layers])
        np.testing.assert_allclose(states[:, number], expected, atol=1e-5)


@parametrize_with_checks([Probe(), LanguageSubspace(), LanguageSubspace("means")])
def test_estimators_keep_the_contract_of_scikit_learn(estimator, check) -> None:
    check(estimator)


@pytest.mark.parametrize("classes", [2, 3])
def test_probabilities_are_those_of_a_converged_logistic_regression(classes: int) -> None:
    x, y = X[: 20 * classes], Y[: 20 * classes]
    standardised = StandardScaler().fit_transform(x)
    expected = LogisticRegression(C=1.0, tol=1e-9, max_iter=1000).fit(standardised, y)
    probe = Probe().fit(x, y)
    np.testing.assert_allclose(probe.predict_proba(x), expected.predict_proba(standardised), atol=1e-4)
    (fitted,) = logistic_probe(x, y, np.arange(len(y)), [x], penalties=[1.0], tolerance=1e-6, seed=0)
    assert probe.predict(x).tolist() == fitted.predicted.tolist()


def test_a_probe_that_has_not_converged_says_so() -> None:
    with pytest.warns(ConvergenceWarning, match="expected a gradient of at most 1e-300"):
        Probe(tolerance=1e-300).fit(X, Y)


def test_a_subspace_has_the_language_means_and_keeps_them_apart() -> None:
    subspace = LanguageSubspace().fit(X, Y)
    np.testing.assert_allclose(subspace.means_, [X[Y == language].mean(0) for language in subspace.languages_])
    apart = [np.linalg.norm(means[:, None] - means, axis=2) for means in (subspace.means_, subspace.transform(subspace.means_))]
    np.testing.assert_allclose(*apart)


def test_wrong_arguments_are_refused_in_one_line(encoder_folder: Path, tmp_path: Path) -> None:
    encoder = load_encoder(encoder_folder)
    with refused("expected a folder with an encoder, as save_pretrained writes it, found none"):
        load_encoder("intfloat/multilingual-e5-small")
    (tmp_path / "trimmed").mkdir()
    (tmp_path / "trimmed/kept.json").touch()
    with refused("expected an encoder with its whole vocabulary, found kept.json"):
        load_encoder(tmp_path / "trimmed")
    for sentences in ("text", [], [3]):
        with refused("sentences: expected a list of strings"):
            encode(encoder, sentences)  # type: ignore[arg-type]
    with refused(r"sentences\[1\]: expected 3 to 512 subwords, found 2"):
        encode(encoder, ["a", " "])
    with refused(r"sentences\[0\]: expected 3 to 512 subwords, found 602"):
        encode(encoder, ["a " * 600])
    with refused(f"cka: expected a definition of .*{OURS}.*, found 'cosine'"):
        cka(X, X, "cosine")
    with refused("Probe: expected a penalty above 0"):
        Probe(penalty=0).fit(X, Y)
    with refused("LanguageSubspace: expected a method of densray, .*, found 'pca'"):
        LanguageSubspace("pca").fit(X, Y)
    with refused("expected a corpus's folder of states"):
        read_states(tmp_path)
    write_states(tmp_path / "udpos/de.parquet", {"layer_2": X[:1].astype(np.float32)}, ["0"])
    write_checksums(tmp_path / "udpos")
    with refused("expected a stored layer, 2, found 7"):
        read_states(tmp_path / "udpos", 7)
    with refused("none.parquet: expected a .parquet file of a study's measures or scores, found none"):
        read_records(tmp_path / "none.parquet")


def test_the_package_is_whole_without_the_repository(tmp_path: Path) -> None:
    """What setuptools finds, as in a wheel, imports from a folder of its own."""
    build = [sys.executable, "-c", "import setuptools; setuptools.setup()", "-q", "build", "--build-base", str(tmp_path)]
    subprocess.run([*build, "egg_info", "--egg-base", str(tmp_path)], cwd=REPOSITORY, check=True, capture_output=True)
    code = "import crosslens.api as api; print(api.__file__, api.cka)"
    run = subprocess.run([sys.executable, "-c", code], cwd=tmp_path / "lib", capture_output=True, text=True, check=True)
    assert run.stdout.startswith(str(tmp_path))
