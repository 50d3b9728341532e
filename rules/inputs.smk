# Functions that return the inputs and settings of rules.

import re
from hashlib import sha256
from inspect import signature
from pathlib import Path

from crosslens.config.scales import keys_digest
from crosslens.reports import spread
from crosslens.sources.mirrors import content_in_mirror
from crosslens.sources.pins import digests
from crosslens.storage.bounded import read_text
from crosslens.storage.reuse import Plan, Reuse
from crosslens.storage.seals import readable_seal

PINS = cache(digests)


def with_signature(function):
    """The function, with its signature as an attribute: Snakemake inspects each function of a param three times a job."""
    function.__signature__ = signature(function)
    return function


def content(file, name=None):
    """Param for a file outside the results: its name and a digest of its content, "" where there is no such file.

    In YAML the keys and values count, comments do not. Times of files are not enough: they miss a file that was moved or unpacked
    there with an older time, and rerun everything after a file that was touched.
    """
    read = (keys_digest, "keys of ") if Path(file).suffix == ".yaml" else ()
    try:
        return f"{name or file} {CONTENTS(Path(file), *read)}"
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except (DataError, OSError) as error:
        raise WorkflowError(str(error))


def resource_params(files):
    """A param for each file of the repository that a rule reads; a single param would not show which file has changed."""
    return {
        f"content{number}": with_signature(lambda wildcards, file=file: content(ROOT / file, file))
        for number, file in enumerate(files)
    }


def rows(file, keys):
    """Param for some rows of a table of the repository, by their first cell, where the other rows are not read."""
    header, *lines = read_text(ROOT / file).splitlines()
    text = "\n".join([header, *(line for line in lines if line.partition(",")[0] in keys)])
    return f"rows of {file} {sha256(text.encode()).hexdigest()}"


def own_encoder_params(kind):
    """A param for each file of a user's own encoder that is read. kind: DESCRIPTION or WEIGHTS, the attribute that lists the files."""

    def param(wildcards, name):
        encoder = CONFIG.encoders[wildcards.encoder]
        return content(Path(encoder.path, name)) if encoder.source == "folder" else ""

    files = getattr(FolderEncoder, kind)
    return {
        f"content{number}": with_signature(lambda wildcards, name=name: param(wildcards, name))
        for number, name in enumerate(files)
    }


@errors_in_a_line()
def changed(file):
    """sha256 of a mirror's copy of SOURCE/PATH, whose change has it fetched again, if nothing else vouches for it; "" for other files.

    Raises WorkflowError where the copy is not what was pinned.
    """
    source, _, path = file.partition("/")
    entry = SOURCES[source]
    if entry.url or entry.published(path):
        return ""
    return content_in_mirror(file, entry.mirrors(CONFIG.mirror), CONTENTS, PINS().get(file))


def corpus_files(corpus):
    """All files of a corpus, in order."""
    names = [f"{language}.{split}" for language, split in CONFIG.corpora[corpus].stored()]
    names += ["typology"] if CONFIG.corpora[corpus].kind == "typology" else []
    return [f"{RESULTS}/corpora/{corpus}/{name}.parquet" for name in names]


def corpus_outputs(corpus):
    """Outputs of the rules for a corpus: the folder of its files, or the files where each takes a job."""
    whole = isinstance(CONFIG.corpora[corpus], OfficialCorpus)
    return [f"{RESULTS}/corpora/{corpus}"] if whole else corpus_files(corpus)


def learns(recipe):
    """Whether weights are learnt, and not only drawn."""
    return bool(recipe_of(recipe).stages or recipe_of(recipe).static)


def check_start(dag):
    """Stop before the first job where no job can be submitted, and name the files that a person must supply."""
    from crosslens.sources.offline import by_hand  # not at the top: only a run asks, planning does not

    executor, jobs = workflow.executor_plugin.name, list(dag.needrun_jobs())
    learning = [job.rule.name for job in jobs if job.rule.name.startswith("train") and learns(job.wildcards_dict["recipe"])]
    if warning := published_here(executor, RESULTS, learning):
        logger.warning(warning)
    submits = not all(workflow.is_local(job.rule) for job in jobs)
    fetched = [os.path.relpath(job.output[0], f"{RESULTS}/sources") for job in jobs if job.rule.name in ("fetch", "dump_sample")]
    for warning in by_hand(fetched, SOURCES, CONFIG.mirror):  # other jobs go on
        logger.warning(warning)
    message = missing_command(executor) if submits else None
    if message := message or missing_image(workflow.deployment_settings.deployment_method, IMAGE):
        raise WorkflowError(message)


def show_rehearsal():
    """Print what the jobs of a rehearsal took beside the bill of the study, as `make cost` does."""
    if CONFIG.rehearse:
        from crosslens.monitoring.cost.__main__ import main  # not at the top: only the end of a rehearsal asks

        main(sys.argv[1:])


def vouched_for(place, folder):
    """Whether the digest of the official file at a place of a folder of results, or of a sample's index, is published or pinned."""
    source, path = OFFICIAL.place(f"{RESULTS}/{place}")
    if SOURCES[source].published(path) or place.startswith(f"sources/{source}-sample/"):
        return True
    seal = readable_seal(Path(folder, place))
    return seal is not None and PINS().get(f"{source}/{path}") in seal.digests.values()


def planned(place, folder):
    """Job that would make an artefact at a place below the results; None if there is none, or if nothing vouches for the
    official file in another folder of results.
    """
    target = f"{RESULTS}/{place}"
    try:
        maker = next((candidate for candidate in workflow.rules if candidate.is_producer(target)), None)
        if maker is None:
            return None
        wildcards = maker.get_wildcards(target)
        inputs, *_ = maker.expand_input(wildcards)
        outputs, _ = maker.expand_output(wildcards)
        _, params = maker.expand_params(wildcards, inputs, outputs, None)
    except WorkflowError:  # settings that do not go together
        return None
    if place.startswith("sources/") and not place.startswith("sources/phrasebook/") and not vouched_for(place, folder):
        return None
    return Plan(frozenset(map(repr, params)), frozenset(inputs))


def reuse_results():
    """Take what is the same from other folders of results; returns messages."""
    # A study and its rehearsal read the same texts.
    counterpart = [CONFIG.counterpart] if os.path.isdir(CONFIG.counterpart) else []
    folders = [folder.rstrip("/") for folder in [*CONFIG.reuse, *counterpart]]
    messages = [Reuse(folder, METADATA, partial(planned, folder=folder)).take() for folder in folders]
    return list(filter(None, messages))


def explain(record):
    """Add to Snakemake's messages on unknown targets and on forgetting changes; keep just the reason where inputs cannot be found."""
    if getattr(record, "exception", "") == "MissingRuleException":
        files = [f"{RESULTS}/{place}{SHOWN[item.form]}" for place, (_, _, item) in ITEMS.items()]
        known = [*(rule.name for rule in workflow.rules), *files]
        misfits = {
            os.path.dirname(f"{RESULTS}/{paper.path('')}"): MISFITS[paper.key] for paper in papers() if paper.key in MISFITS
        }
        try:
            all_scales = scales(ROOT)
        except DataError:  # in a file that this call does not read
            all_scales = []
        record.msg = unknown_target(record.msg, known, RESULTS, all_scales, MISFITS | misfits)
    if "--cleanup-metadata" in str(record.msg):
        record.msg = KEPT_IN_SPITE
    if getattr(record, "exception", "") == "InputFunctionException":
        record.msg = reason(record.msg)
    return True


def corpus_settings(corpus):
    """Settings that determine the rows of a corpus, beside its files and the code of its reader."""
    reading = corpus.model_dump(include=corpus.READS)
    return {"limits": corpus.limits, "seed": corpus.seed, "texts": OFFICIAL.texts(corpus), **reading}


def sample_settings(corpus, language):
    """Settings that determine the paragraphs of a language, beside its file."""
    read = {"form", "paragraphs", "minimum_characters", "shares", "per_page", "candidates", "seed"}
    return corpus.model_dump(include=read)


def token_settings(wildcards):
    """Settings with which a corpus is tokenised, and languages in which validation is a share of train."""
    corpus = CONFIG.corpora[wildcards.corpus]
    languages = sorted(set(corpus.parts()) - set(corpus.stored()))
    shared = {"languages": [language for language, _ in languages]}
    if languages:
        shared |= {"share": corpus.validation_share, "by": getattr(corpus, "validation_by", "text"), "seed": corpus.seed}
    reading, encoder = CONFIG.readings[wildcards.reading], CONFIG.encoders[wildcards.encoder]
    if (reading.alters() or reading.whole_text) and encoder.trimmed():
        raise WorkflowError(
            f"readings.{wildcards.reading}: expected an encoder with its whole vocabulary, since texts are altered or whole, found "
            f"{wildcards.encoder}, which has the subwords of unaltered words alone; set encoders.{wildcards.encoder}.corpora to []"
        )
    return {"reading": reading.model_dump(exclude_defaults=True), "parts": list(corpus.stored()), "shared": shared}


def looked_up(wildcards):
    """Rows of resources/languages.csv that the reader of a corpus looks up."""
    corpus = CONFIG.corpora[wildcards.corpus]
    looks_up = corpus.kind in ("entities", "documents", "typology")
    return {code: languages_table()[code] for code in corpus.languages} if looks_up else {}


def encoder_settings(wildcards):
    """An encoder's entry in the configuration."""
    return CONFIG.encoders[wildcards.encoder].model_dump(exclude={"depth"})


def shared_tokenizer(encoder):
    """Folder of the tokenizer that an encoder shares with another, in a list."""
    return [f"{RESULTS}/tokenizers/{encoder.shares()}"] if encoder.shares() else []


def vocabulary_files(wildcards, files_of):
    """Files of the corpora to which an encoder's vocabulary is trimmed, or from which it is learnt."""
    return [file for corpus in CONFIG.encoders[wildcards.encoder].corpora for file in files_of(corpus)]


def tokens_of(encoder, reading, corpora):
    """Folders of tokens, each corpus once; of the tokenizer that an encoder shares with another."""
    return [f"{RESULTS}/{STUDIES.tokens(encoder, reading, corpus)}" for corpus in dict.fromkeys(corpora)]


def recipe_tokens(recipe):
    """Folders of tokens that a recipe reads."""
    return tokens_of(recipe.encoder, recipe.reading, [corpus for corpus, _, _ in recipe.files()])


def recipe_artefact(recipe):
    """The measure of another recipe's states that a training reads, in a list; [] for none."""
    artefact = recipe.artefact
    return [f"{RESULTS}/measures/{artefact.kind}/{artefact.recipe}/seed{artefact.seed}.parquet"] if artefact else []


def recipe_pretrained(recipe, seed):
    """Weights of the model from which a training starts, in a list; [] where it starts from those of its encoder's folder."""
    model = recipe.pretrained
    return [f"{RESULTS}/models/{model.recipe}/seed{model.seed(int(seed))}/model.safetensors"] if model else []


def drawn_tokens(draws):
    """Folders of tokens from which words are drawn."""
    return tokens_of(draws.encoder, draws.reading, draws.corpora)


def recipe_draws(name):
    """Name of the draws whose states are stored for a recipe's model."""
    recipe_of(name)
    if (draws := STUDIES.drawn(name)) is None:
        raise WorkflowError(f"states/{name}: expected a recipe for which its paper draws words or texts (Paper.drawn)")
    return draws


def recipe_models(name, seed):
    """Weights of the model from which a training started, then its own, in the order of loading; [] for a pretrained encoder."""
    recipe = recipe_of(name)
    if recipe.trains() and not recipe.keeps_weights:
        raise WorkflowError(f"{name}: expected a recipe whose weights are kept, since its encoder is run again (keeps_weights)")
    weights = [f"{RESULTS}/models/{name}/seed{seed}/model.safetensors"] if recipe.trains() else []
    return recipe_pretrained(recipe, seed) + weights


PARAMS = 64  # of the settings of a recipe: Snakemake takes long over each


@cache
def recipe_leaves(name):
    """Settings of a recipe one by one, "place: value", filled up with "" to PARAMS; the last one holds all that are left."""
    leaves = sorted(recipe_of(name).leaves().values())
    leaves += [""] * (PARAMS - len(leaves))
    return [*leaves[: PARAMS - 1], "; ".join(leaves[PARAMS - 1 :])]


def recipe_params():
    """A param for each setting of a recipe, so that the reason for a rerun shows exactly the settings that changed.

    Snakemake compares the values of params without their names, hence the place in each value.
    """
    return {
        f"setting{number}": with_signature(lambda wildcards, number=number: recipe_leaves(wildcards.recipe)[number])
        for number in range(PARAMS)
    }


@errors_in_a_line()
def measure_settings(wildcards):
    """Settings of a measure of a recipe; a kind with a setting `training` gets the files of the recipe's training data."""
    paper, recipe = STUDIES.recipe(wildcards.recipe)
    settings = STUDIES.settings(wildcards.kind, wildcards.recipe)
    if "training" in (expected_settings(wildcards.kind.partition("@")[0]) or ()):
        settings = {"training": [file for file in recipe.files() if file[2] == "train"], **settings}
    common = {"paper": paper.key, "encoder": recipe.encoder, "task": recipe.task}
    return {"common": common, "measure": settings}


def measured_seeds(wildcards):
    """Seeds of the trainings that a measure reads; the first alone for draws, which are the same for all."""
    source, seeds = STUDIES.kind(wildcards.kind).source, STUDIES.seeds(wildcards.recipe)
    if source in BY_SEED:
        return [int(wildcards.seed)]
    return seeds[:1] if source == "draws" else seeds


def measured(wildcards):
    """Inputs of a measure, by its kind."""
    settings = measure_settings(wildcards)["measure"]  # first, since it refuses a measure that is not asked for
    name, kind = wildcards.recipe, STUDIES.kind(wildcards.kind)
    beside = {"tokens": measured_tokens(name, kind)} if kind.tokens else {}
    beside |= {"typology": corpus_files(settings["typology"])} if kind.typology else {}
    if kind.source == "states":
        return {"states": f"{RESULTS}/states/{name}/seed{wildcards.seed}"} | beside
    if kind.source == "encoder":
        encoder = recipe_of(name).encoder
        read = [tokens_of(encoder, reading, [corpus])[0] for corpus, reading in settings.get("corpora", {}).items()]
        dictionaries = [corpus_outputs(corpus)[0] for corpus in settings.get("dictionaries", [])]
        folder = {"encoder": f"{RESULTS}/encoders/{encoder}", "weights": recipe_models(name, wildcards.seed)}
        return folder | {"tokens": read, "dictionaries": dictionaries} | beside
    if kind.source == "draws":
        return {"draws": f"{RESULTS}/draws/{recipe_draws(name)}"} | beside
    return {file: model_files(name, file, STUDIES.seeds(name)) for file in ("predictions", "history")} | beside


def measured_tokens(name, kind):
    """Folders of tokens that a measure of a recipe reads: those from which its words are drawn, or those of its trainings."""
    drawn = kind.source in ("states", "draws")
    return drawn_tokens(DRAWS[recipe_draws(name)]) if drawn else recipe_tokens(recipe_of(name))


def model_files(name, kind, seeds):
    """Files of a kind that a recipe's trainings leave, one per seed; of trials that share a job, the folder of all their files."""
    return [f"{RESULTS}/{place}" for place in STUDIES.model_files(name, kind, seeds)]


@errors_in_a_line()
def need_files(paper, need):
    """Files of a need of a paper's item: one per seed where the measure reads states, otherwise one for all seeds."""
    return [f"{RESULTS}/{place}" for place in STUDIES.need_files(paper.key, need)]


def item_tokens(paper, item):
    """Folders of tokens that an item reads, by name: CORPUS under its reading, CORPUS/READING under further ones."""
    return {name: f"{RESULTS}/{place}" for name, place in STUDIES.item_tokens(paper, item).items()}


def item_inputs(wildcards):
    """Inputs of an item."""
    paper, _, item = ITEMS[wildcards.item]
    trained = [need for need in item.needs if recipe_of(need.recipe).trains()]
    records, histories = (
        dict.fromkeys(file for need in trained for file in model_files(need.recipe, kind, need.seeds))
        for kind in ("record", "history")
    )
    return {
        "needs": [file for need in item.needs for file in need_files(paper, need)],
        "records": list(records),
        "histories": list(histories),
        "published": [ancient(file) for file in published_file(paper.key)],  # its content is among the params
        "cited": [ancient(file) for file in published_file(item.cites)],
        "tokens": list(item_tokens(paper, item).values()),
        "draws": [f"{RESULTS}/draws/{name}" for name in item.draws],
        "tokenizer": [f"{RESULTS}/{STUDIES.item_tokenizer(paper, item)}"] if item.tokenizer else [],
        "typology": corpus_files(item.typology) if item.typology else [],
    }


def item_settings(wildcards):
    """Settings that determine an item beside its files.

    Of a table also the reasons why it cannot be compared with the paper's, of a figure the line that says where it comes from.
    """
    paper, name, item = ITEMS[wildcards.item]
    if item.form == "figure":
        beside = {"origin": about().origin(paper, item)}
    else:
        beside = {"apart": about().apart(paper, about().uses(paper, item))}
    return {
        "paper": paper.key,
        "item": name,
        "module": item.module,
        "needs": [
            {"kind": need.kind, "recipe": need.recipe, "seeds": list(need.seeds), "files": len(need_files(paper, need))}
            for need in item.needs
        ],
        "corpora": list(item_tokens(paper, item)),
        "draws": list(item.draws),
        "settings": dict(item.settings),
        **beside,
    }


def published_file(paper):
    """The table of a paper's published values, in a list; [] without a paper, or for a paper that printed nothing."""
    file = ROOT / f"resources/published/{paper}.csv"
    return [str(file)] if paper and file.is_file() else []


def published(paper):
    """Content of the table of a paper's published values; "" where there is none."""
    return content(ROOT / f"resources/published/{paper}.csv", f"resources/published/{paper}.csv") if paper else ""


def item_code(wildcards):
    """Fingerprint of an item: a change in the module of one item does not affect the others."""
    paper, _, item = ITEMS[wildcards.item]
    return code(item.form, f"papers/{paper.key}/{item.module}")


@errors_in_a_line()
def paper_measures(paper):
    """All records of a paper's tables and figures."""
    needs = [need for key, _, item in ITEMS.values() if key is paper and not item.searched for need in item.needs]
    measured = [need for need in needs if need.kind not in MODEL_FILES and STUDIES.kind(STUDIES.measure(paper.key, need)).records]
    return sorted({file for need in measured for file in need_files(paper, need)})


def regular_items(paper):
    """Items of a paper's report by name: those with a page, without searches."""
    return {name: item for other, name, item in ITEMS.values() if other is paper and item.page and not item.searched}


def page_items(wildcards):
    """Files of the tables and figures on a page."""
    paper, items = PAGES[wildcards.page]
    return [f"{RESULTS}/{paper.path(name)}{SHOWN[item.form]}" for name, item in items.items()]


@cache
def about():
    """Facts of this scale and of the published study, for pages and tables."""
    published_values = read_yaml(ROOT / "config.yaml")
    published_studies = STUDIES if published_values == config else Studies(load(published_values), papers())
    return About(STUDIES, published_studies, SOURCES)


def several_seeds(wildcards):
    """Tables over several seeds of the items on a page, in this scale: how far one seed may be from another."""
    paper, items = PAGES[wildcards.page]
    return spread.tables(ROOT, about().scale, map(paper.path, items))


def page_settings(wildcards):
    """Settings of a page: facts and captions of its items."""
    return about().page(*PAGES[wildcards.page], report=wildcards.page not in ITEMS)


def targets(*keys, searched=False):
    """Files of the items of papers with their reports, or, searched, of their searches. Raises WorkflowError for a misfit."""
    if misfits := [MISFITS[key] for key in keys if key in MISFITS]:
        raise WorkflowError("\n".join(misfits))
    files = [
        f"{RESULTS}/{place}{ending}"
        for place, (paper, _, item) in ITEMS.items()
        if paper.key in keys and item.searched == searched
        for ending in (SHOWN[item.form], ".html")
    ]
    chosen = [paper for paper in PAPERS if paper.key in keys and not searched]
    files += [f"{RESULTS}/{paper.path('report')}.html" for paper in chosen if paper.path("report") in PAGES]
    return files + [f"{RESULTS}/scores/{paper.key}.parquet" for paper in chosen]


def asked_files(arguments):
    """Files to make for an argument of a call: a figure with its page, which would show the one before; in a rehearsal the file at
    the same place below its own results, where one of the study is named.

    None where options choose jobs by their files (-f, -R, -U, -O): a rule with the name of a file would be chosen in its place.
    """
    if any(re.match(r"--(force|forcerun|until|omit-from)\b|-[A-Za-z]*[fRUO]", argument) for argument in arguments):
        return {}
    figures = [place for place, (_, _, item) in ITEMS.items() if item.form == "figure"]
    pages = {f"{RESULTS}/{place}{ending}": f"{RESULTS}/{place}.html" for place in figures for ending in ENDINGS["figure"]}
    files = {file: [file, page] for file, page in pages.items()}
    if CONFIG.rehearse:
        study = f"{CONFIG.counterpart}/"
        named = [argument for argument in arguments if argument.startswith(study) and not argument.startswith(f"{RESULTS}/")]
        here = {argument: f"{RESULTS}/{argument.removeprefix(study)}" for argument in named}
        files |= {argument: files.get(file, [file]) for argument, file in here.items()}
    return {argument: files[argument] for argument in arguments if argument in files}


def kinds_that_read(*sources):
    """Pattern of the kinds of measures with one of these sources: predictions, states, encoder or draws."""
    return kinds_pattern(name for name, kind in STUDIES.kinds.items() if kind.source in sources)


def claims_files(paper):
    """Ledger of a paper and its printed cells, by their names below the repository; none where it has no ledger."""
    ledger = f"workflow/crosslens/papers/{paper.key}/claims.yaml"
    printed = f"resources/published/{paper.key}.csv"
    return [file for file in (ledger, printed) if (ROOT / file).is_file()] if (ROOT / ledger).is_file() else []


def claims_modules():
    """Modules of papers with functions that ledgers name."""
    names = [f"papers/{paper.key}/claims" for paper in PAPERS if claims_files(paper)]
    return [name for name in names if (ROOT / f"workflow/crosslens/{name}.py").is_file()]


@errors_in_a_line()
def of_study(files):
    """Files that a page of conclusions reads. Raises WorkflowError in a rehearsal."""
    CONFIG.expect_study()
    return files


CLAIMS_PAGE = ["workflow/crosslens/reports/claims/claims.html.j2", "workflow/crosslens/reports/page.css"]
CLAIMED = [paper for paper in PAPERS if claims_files(paper)]
CLAIMS_TEXTS = [*(file for paper in CLAIMED for file in claims_files(paper)), *CLAIMS_PAGE]


@cache
@errors_in_a_line()
def claims_settings():
    """Settings of the claims of each paper, by its key: tables and records that decide them, encoders, names of items."""
    # Not at the top: ledgers are slow to import, and few runs plan claims.
    from crosslens.reports.claims.ledger import read_ledger
    from crosslens.reports.claims.plan import Plan

    plan = Plan(about(), RESULTS)
    return {
        paper.key: plan.settings(paper, read_ledger(ROOT / files[0], plan.names(paper)), files)
        for paper, files in ((paper, claims_files(paper)) for paper in CLAIMED)
    }


@cache
def claims_evidence():
    """Tables and records that exist, with the identities of their seals."""
    from crosslens.reports.claims.plan import evidence_files

    return identities(file for settings in claims_settings().values() for file in evidence_files(settings["evidence"]))


def built_tables():
    """Places of the tables that exist, with the identities of their seals."""
    places = {f"{RESULTS}/{place}.csv": place for place, (_, _, item) in ITEMS.items() if item.form == "table"}
    return {places[file]: identity for file, identity in identities(map(Path, places)).items()}


PASSPORT_FILES = {
    "style": "workflow/crosslens/reports/page.css",
    "pretraining": "resources/pretraining.yaml",
    "languages": "resources/languages.csv",
    "measures": "workflow/crosslens/papers/passport/measures.yaml",
}


def passport_template(name):
    """Template of a page of passports."""
    return f"workflow/crosslens/papers/passport/{name}.html.j2"


def passport_files(name):
    """Inputs that a page of passports has beside tables; their content is among the params."""
    return {key: ancient(str(ROOT / file)) for key, file in {"template": passport_template(name), **PASSPORT_FILES}.items()}
