# Functions that rules take their inputs and settings from.


def corpus_files(corpus):
    """All files of a corpus, in order."""
    names = [f"{language}.{split}" for language, split in CONFIG.corpora[corpus].stored()]
    names += ["typology"] if CONFIG.corpora[corpus].kind == "typology" else []
    return [f"{RESULTS}/corpora/{corpus}/{name}.parquet" for name in names]


def official_file(source, path):
    """Where an official file is, and what is known of it."""
    known = SOURCES[source]
    return {
        "urls": known.urls_of(path),
        "sha256": known.sha256_of(path),
        "size": known.bytes_of(path),
        "manual": known.manual,
        "mirror": known.mirror,
    }


def official_files(corpus, language, splits):
    """Files of a source by split, or the archive that holds them all; `texts`: the archive that a corpus of ids chooses from."""
    source, archive = corpus.distribution(splits)
    folder = f"{RESULTS}/sources/{source}"
    chosen_from = corpus.texts_of(language)
    texts = {"texts": f"{RESULTS}/sources/{'/'.join(chosen_from)}"} if chosen_from else {}
    if archive:
        return {"archive": f"{folder}/{archive}", **texts}
    files = {
        split: [file for pattern in corpus.files_of(language, split) for file in SOURCES[source].matching(pattern)]
        for split in splits
    }
    return {split: [f"{folder}/{file}" for file in found] for split, found in files.items() if found} | texts


def typology_files(corpus):
    """The tables of WALS."""
    return [f"{RESULTS}/sources/{corpus.source}/{corpus.folder}/{table}.csv" for table in corpus.TABLES]


def dump(corpus, language):
    """A language's dump, or the sample of it."""
    source = f"{corpus.source}-sample/{corpus.blocks}-{corpus.seed}" if corpus.blocks else corpus.source
    return f"{RESULTS}/sources/{source}/{corpus.file_of(language)}"


def encoder_files(settings):
    """Official files of an encoder of the hub."""
    if settings.source != "hub":
        return []
    return [f"{RESULTS}/sources/hub/{settings.id}/{settings.revision}/{file}" for file in settings.FILES]


def all_official_files():
    """Everything that is fetched for the configured studies, whatever is asked for."""
    encoders = sorted({recipe.encoder for _, recipe in RECIPES.values()})
    found = [file for encoder in encoders for file in encoder_files(CONFIG.encoders[encoder])]
    for corpus in [CONFIG.corpora[name] for encoder in encoders for name in encoder_corpora(encoder)]:
        for language, split in corpus.stored():
            if corpus.kind == "paragraphs":
                index = f"{RESULTS}/sources/{corpus.source}/{corpus.file_of(language).removesuffix('.xml.bz2')}-index.txt.bz2"
                found += [*([index] if corpus.blocks else []), dump(corpus, language)]
                continue
            files = official_files(corpus, language, [split])
            found += chain.from_iterable([file] if isinstance(file, str) else file for file in files.values())
    return [file for file in dict.fromkeys(found) if not file.startswith(f"{RESULTS}/sources/phrasebook/")]


def corpus_sources(wildcards):
    """Official files of a split."""
    return official_files(CONFIG.corpora[wildcards.corpus], wildcards.language, [wildcards.split])


def corpus_settings(wildcards):
    """What decides a split's rows beside its files and its reader's code."""
    corpus, split = CONFIG.corpora[wildcards.corpus], wildcards.split
    _, archive = corpus.distribution([split])
    return {
        "patterns": {split: corpus.files_of(wildcards.language, split)} if archive else {},
        "limit": corpus.limits.get(split),
        "seed": corpus.seed,
        "reading": corpus.model_dump(include=corpus.READS),
    }


def token_settings(corpus):
    """How a corpus is tokenised, and whose validation is a share of train."""
    languages = sorted(set(corpus.parts()) - set(corpus.stored()))
    shared = {"languages": [language for language, _ in languages]}
    if languages:
        shared |= {"share": corpus.validation_share, "by": getattr(corpus, "validation_by", "text"), "seed": corpus.seed}
    return {"tokens": (corpus.tokens or CONFIG.tokens).model_dump(), "parts": list(corpus.stored()), "shared": shared}


def reader_code(wildcards):
    """What reading a corpus computes: a change in the reader of one kind leaves the others."""
    return [code("corpus"), fingerprint(f"workflow/crosslens/corpora/{CONFIG.corpora[wildcards.corpus].READER}.py")]


def looked_up(wildcards):
    """What a corpus's reader takes from resources/languages.csv."""
    corpus = CONFIG.corpora[wildcards.corpus]
    codes = {"entities": [wildcards.get("language")], "documents": [wildcards.get("language")], "typology": corpus.languages}
    return {code: languages_table()[code] for code in codes.get(corpus.kind, ())}


def encoder_sources(wildcards):
    """What an encoder is made of: its files on the hub, and the text that it will read where it is trimmed to that."""
    settings = CONFIG.encoders[wildcards.encoder]
    trimmed = settings.trim or settings.source == "random"
    read = encoder_corpora(wildcards.encoder) if trimmed else []
    texts = [file for corpus in read for file in corpus_files(corpus)]
    return {"hub": encoder_files(settings), "texts": texts}


def encoder_corpora(encoder):
    """Corpora that an encoder's recipes read, in the order of the configuration."""
    recipes = [recipe for _, recipe in RECIPES.values() if recipe.encoder == encoder]
    read = {corpus for recipe in recipes for corpus in [*(file[0] for file in recipe.files()), *recipe_draws(recipe.name)]}
    return [corpus for corpus in CONFIG.corpora if corpus in read]


def recipe_tokens(recipe):
    """Folders of tokens that a recipe reads."""
    corpora = dict.fromkeys(corpus for corpus, _, _ in recipe.files())
    return [f"{RESULTS}/tokens/{recipe.encoder}/{corpus}" for corpus in corpora]


@cache
def recipe_leaves(recipe):
    """Settings of a recipe that are not at their defaults, one a place: stages.0.phases.0.terms.1.reversal -> its text."""
    leaves, waiting = {}, list(asked(recipe)[1].settings().items())
    while waiting:
        place, value = waiting.pop()
        nested = isinstance(value, dict) or (isinstance(value, list) and any(isinstance(part, dict) for part in value))
        if nested:
            parts = value.items() if isinstance(value, dict) else enumerate(value)
            waiting += [(f"{place}.{key}", part) for key, part in parts]
        else:
            leaves[place] = f"{place}: {value}"
    return leaves


def recipe_params():
    """A param for each setting of recipes, so that the reason of a rerun shows what differs and nothing else.

    Snakemake compares values without the names of their params: hence the place in each value.
    """
    places = sorted({place for recipe in (*RECIPES, *TRIALS) for place in recipe_leaves(recipe)})
    return {
        f"setting{number}": lambda wildcards, place=place: recipe_leaves(wildcards.recipe).get(place, "")
        for number, place in enumerate(places)
    }


def recipe_draws(recipe):
    """Corpora and words whose states a recipe's model is asked for."""
    paper, found = asked(recipe)
    return paper.draws(found, CONFIG)


def measure_settings(wildcards):
    """Settings of a kind of measure for a recipe, as its paper asks for it."""
    paper, recipe = asked(wildcards.recipe)
    measures = paper.measures(recipe, CONFIG)
    if wildcards.kind not in measures:
        raise WorkflowError(
            f"measures/{wildcards.kind}/{recipe.name}: {paper.key} asks for {', '.join(measures)} of this recipe; name "
            f"{wildcards.kind} with its settings in papers/{paper.key}/paper.py"
        )
    common = {"paper": paper.key, "encoder": recipe.encoder, "recipe": recipe.name, "task": recipe.task}
    return {"common": common, "measure": measures[wildcards.kind]}


def measure_tokens(wildcards):
    """Folders of tokens, for a kind that reads them. Rejects a kind that is not requested before its other inputs are looked for."""
    measure_settings(wildcards)
    return recipe_tokens(asked(wildcards.recipe)[1]) if "tokens" in KINDS[wildcards.kind] else []


def need_files(need):
    """Files of a need: one a seed; of measures of predictions one for all seeds."""
    if need.kind in MODEL_FILES:
        return [f"{RESULTS}/models/{need.recipe}/seed{seed}/{MODEL_FILES[need.kind]}" for seed in need.seeds]
    if KINDS[need.kind][0] == "predictions":
        return [f"{RESULTS}/measures/{need.kind}/{need.recipe}.parquet"]
    return [f"{RESULTS}/measures/{need.kind}/{need.recipe}/seed{seed}.parquet" for seed in need.seeds]


def item_inputs(wildcards):
    """What an item is made of."""
    paper, _, item = ITEMS[wildcards.item]
    encoder = f"{RESULTS}/encoders/{CONFIG.paper(paper.key).encoder}"
    models = dict.fromkeys((need.recipe, seed) for need in item.needs for seed in need.seeds)
    return {
        "needs": [file for need in item.needs for file in need_files(need)],
        "records": [f"{RESULTS}/models/{recipe}/seed{seed}/record.json" for recipe, seed in models],
        "published": f"resources/published/{paper.key}.csv",
        "tokens": [f"{RESULTS}/tokens/{CONFIG.paper(paper.key).encoder}/{corpus}" for corpus in item.corpora],
        "encoder": [encoder] if item.encoder else [],
    }


def item_settings(wildcards):
    """What decides an item beside its files."""
    paper, name, item = ITEMS[wildcards.item]
    return {
        "paper": paper.key,
        "item": name,
        "module": item.module,
        "needs": [
            {"kind": need.kind, "recipe": need.recipe, "seeds": list(need.seeds), "files": len(need_files(need))}
            for need in item.needs
        ],
        "corpora": list(item.corpora),
        "settings": dict(item.settings),
    }


def item_code(wildcards):
    """What an item computes: a change in the module of one item leaves the others."""
    paper, _, item = ITEMS[wildcards.item]
    return code(item.form, f"papers/{paper.key}/{item.module}")


def paper_measures(paper):
    """All records of a paper's tables and figures."""
    needs = [need for key, _, item in ITEMS.values() if key is paper and not item.searched for need in item.needs]
    measured = [need for need in needs if need.kind in KINDS and need.kind != "projection"]
    return sorted({file for need in measured for file in need_files(need)})


def shown(path):
    """Mark an item for the report. A caption must be a path: item.rst holds the text of `config["captions"]`."""

    def labels(wildcards):
        _, _, item = ITEMS[wildcards.item]
        form = Path(path).suffix[1:]
        return {"item": item.title, "shows": item.shows, "type": "to read" if form == "html" else form}

    return report(
        path,
        caption=f"{ROOT}/workflow/report/item.rst",
        category=lambda wildcards: ITEMS[wildcards.item][0].key,
        labels=labels,
    )


def targets(*keys, searched=False):
    """Files of the items of papers, all of them or those that show searches."""
    endings = {"table": ("csv", "html"), "figure": ("svg",)}
    found = [
        f"{RESULTS}/{place}.{ending}"
        for place, (paper, _, item) in ITEMS.items()
        if paper.key in keys and item.searched == searched
        for ending in endings[item.form]
    ]
    return found if searched else found + [f"{RESULTS}/scores/{paper.key}.parquet" for paper in PAPERS if paper.key in keys]


def reading(source):
    """Pattern of the kinds that read predictions, or states."""
    return "|".join(kind for kind, reads in KINDS.items() if reads[0] == source) or "none"
