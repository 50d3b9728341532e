"""What is said beside Snakemake's own messages."""

import platform
from pathlib import Path

import yaml
from crosslens.commands.hints import missing_command, missing_mirrors, published_here, unknown_rules, unknown_target, warnings
from crosslens.config.presets import Preset
from crosslens.papers.configuration import load

PRESETS = [Preset("slurm", "results"), Preset("demo", "results/demo"), Preset("laptop", "results/laptop")]
FILES = ["table1.csv", "table2.csv", "figure3.svg", "muller2021/table1.csv"]


def hint(target, results="results/demo"):
    said = f"No rule to produce {target} (if you use input functions make sure that they don't raise unexpected exceptions)."
    message = unknown_target(said, ["demo", "all", *(f"{results}/{file}" for file in FILES)], results, PRESETS)
    assert message.startswith(f"{said}\n")
    return message.removeprefix(f"{said}\n")


def test_unknown_targets():
    for target, expected in {
        "results/demo/tabel1.csv": "Did you mean results/demo/table1.csv or ",
        "demoo": "Did you mean demo?",
        "table1": "Did you mean results/demo/table1.csv",
        "results/demo/figure4.svg": "Did you mean results/demo/figure3.svg",
        "figure3.svg": "Did you mean results/demo/figure3.svg",
        "results/table2.csv": "It belongs to the published preset: add --profile slurm.",
        "results/laptop/figure3.svg": "It belongs to the laptop preset: add --profile laptop.",
        "something/else": "`make status` lists",
    }.items():
        assert hint(target).startswith(expected), target
    assert hint("results/demo/table1.csv", "results") == "It belongs to the demo preset: add --profile demo."
    drawn = unknown_target("No rule to produce results/figure3.pdf (if", ["results/figure3.svg"], "results", PRESETS)
    assert drawn == "results/figure3.pdf: figures are drawn as .svg and .png only; ask for results/figure3.svg"
    refusal = unknown_target(
        "No rule to produce r/table1.csv (if", ["r/table1.csv"], "r", PRESETS, {"r": "papers.x: no such key"}
    )
    assert refusal == "papers.x: no such key"


def test_a_cluster_needs_sbatch(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert missing_command("local") is None and "login node" in missing_command("slurm")
    (tmp_path / "sbatch").touch(0o755)
    assert missing_command("slurm") is None


def test_resources_of_rules_that_do_not_exist():
    assert unknown_rules({"train": {}}, ["train", "states"]) == ""
    assert unknown_rules(["stats", "x"], ["train", "states"]) == (
        "set-resources: expected the name of a rule, found 'stats'; did you mean 'states'?\n"
        "set-resources: expected the name of a rule, found 'x'; correct or remove it"
    )


def test_the_full_study_on_one_machine():
    rules = ["train", "train_trials", "table"]
    assert "2 training runs" in published_here("local", "results", rules)
    assert not any(
        published_here(*of)
        for of in (("slurm", "results", rules), ("local", "results/demo", rules), ("local", "results", ["table"]))
    )


def test_a_mirror_that_does_not_exist(tmp_path, monkeypatch):
    (tmp_path / "my-data").mkdir()
    (tmp_path / "my-dataa.yaml").touch()
    assert missing_mirrors([str(tmp_path), f"{tmp_path}/my-data/"], "a.yaml") == ""
    lines = missing_mirrors([f"{tmp_path}/my-dataa", f"{tmp_path}/none/my-data"], "a.yaml").splitlines()
    expected = "a.yaml: mirror: expected a folder, found none at {}: correct it, or leave it out"
    assert lines == [
        expected.format(f"{tmp_path}/my-dataa") + "; did you mean 'my-data'?",
        expected.format(f"{tmp_path}/none/my-data"),
    ]
    monkeypatch.chdir(tmp_path)
    assert missing_mirrors(["my-dat"], "a.yaml") == expected.format("my-dat") + "; did you mean 'my-data'?"


def test_results_to_reuse_that_do_not_exist_and_an_encoder_without_a_package(values, tmp_path, monkeypatch):
    values = values | {"reuse": [str(tmp_path), f"{tmp_path}/other"]}
    no_results = f"reuse: expected a folder of results, found none at {tmp_path}/other; everything is made here"
    demo = yaml.safe_load((Path(__file__).parents[1] / "demo/overlay.yaml").read_text())["encoders"]
    values["encoders"] = values["encoders"] | {name: values["encoders"].get(name, {}) | its for name, its in demo.items()}
    packaged = [name for name, its in demo.items() if its.get("source") == "packaged"]
    for system, machine in (("Darwin", "arm64"), ("Linux", "aarch64"), ("Linux", "x86_64")):
        monkeypatch.setattr(platform, "system", lambda system=system: system)
        monkeypatch.setattr(platform, "machine", lambda machine=machine: machine)
        config = load(values)
        encoder = config.encoders["e5-small"]
        first, *others = warnings(values, config)
        assert first == no_results
        if machine == "x86_64":
            assert encoder.source == "packaged" and others == []
        else:
            assert (encoder.source, encoder.id, encoder.corpora) == ("hub", demo["e5-small"]["id"], demo["e5-small"]["corpora"])
            assert [other.partition(":")[0] for other in others] == [f"encoders.{name}" for name in packaged]
            assert others[0].startswith("encoders.e5-small: no package for this platform, so intfloat/")
    mine = {"mine": {"source": "folder", "path": f"{tmp_path}/mine"}}
    values["encoders"] |= mine
    expected = f"encoders.mine.path: expected a folder with config.json, found none at {tmp_path}"
    assert warnings(values, load(values))[1].startswith(expected)
    misfits = {"x": "mine.yaml: papers.x.seeds: expected 1, found 2"}
    assert warnings(values, load(values), misfits)[-1] == "papers.x is omitted: mine.yaml: papers.x.seeds: expected 1, found 2"
