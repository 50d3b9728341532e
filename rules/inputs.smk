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
    encoders = sorted({resolve(recipe, CONFIG).encoder for recipe in recipe_names(CONFIG)})
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


def by_family(languages):
    """Code -> name of languages, relatives side by side, so that their marks are neighbours."""
    table = languages_table()
    return {
        code: table[code]["name"] for code in sorted(languages, key=lambda code: (table[code]["family"], table[code]["name"]))
    }


def encoder_sources(wildcards):
    """What an encoder is made of: its files on the hub, and the text that it will read where it is trimmed to that."""
    settings = CONFIG.encoders[wildcards.encoder]
    trimmed = settings.trim or settings.source == "random"
    read = encoder_corpora(wildcards.encoder) if trimmed else []
    texts = [file for corpus in read for file in corpus_files(corpus)]
    return {"hub": encoder_files(settings), "texts": texts}


def encoder_corpora(encoder):
    """Corpora that an encoder's recipes read, in the order of the configuration."""
    recipes = [recipe for recipe in map(lambda name: resolve(name, CONFIG), recipe_names(CONFIG)) if recipe.encoder == encoder]
    read = {corpus for recipe in recipes for corpus in [*(file[0] for file in recipe.files()), *recipe_draws(recipe.name)]}
    return [corpus for corpus in CONFIG.corpora if corpus in read]


def recipe_tokens(recipe):
    """Folders of tokens that a recipe reads."""
    corpora = dict.fromkeys(corpus for corpus, _, _ in recipe.files())
    return [f"{RESULTS}/tokens/{recipe.encoder}/{corpus}" for corpus in corpora]


def recipe_draws(recipe):
    """Corpora and words whose states a recipe's model is asked for."""
    return stored_states(recipe, CONFIG)


def tanti2021_common(wildcards):
    """What all records of a training share."""
    recipe = resolve(wildcards.recipe, CONFIG)
    return {"paper": "tanti2021", "encoder": recipe.encoder, "recipe": recipe.name, "task": recipe.name.split("/")[1]}


def tanti2021_corpora(task):
    """The corpora of a task: target, wiki."""
    return [TANTI2021.tasks[task].corpus, TANTI2021.language_corpus]


def tanti2021_models(runs, seeds=None, tasks=None):
    """Names of the trainings of some runs, as far as they are configured: tanti2021/TASK/RUN/seedN."""
    return [
        f"tanti2021/{task}/{run}/seed{seed}"
        for task in tasks or TANTI2021.tasks
        for run in runs
        if run in TANTI2021.tasks[task].runs
        for seed in seeds or TANTI2021.tasks[task].runs[run].seeds or CONFIG.seeds
    ]


def tanti2021_records(runs, tasks=None):
    """How the models of some runs were made."""
    return [f"{RESULTS}/models/{model}/record.json" for model in tanti2021_models(runs, tasks=tasks)]


def tanti2021_measures(runs, kinds, tasks=None):
    """Records of some kinds for some runs, all seeds; 'spelling' is the baseline without a model."""
    found = [
        f"{RESULTS}/measures/{kind}/{model}.parquet"
        for kind in dict.fromkeys(kinds)
        for model in tanti2021_models(runs, tasks=tasks)
    ]
    if "spelling" in runs:
        found += [f"{RESULTS}/measures/spelling/tanti2021/{task}.parquet" for task in TANTI2021.tasks]
    return found


def muller2021_common(wildcards):
    """What all records of a recipe share."""
    recipe = resolve(wildcards.recipe, CONFIG)
    return {"paper": "muller2021", "encoder": recipe.encoder, "recipe": recipe.name, "task": recipe.task}


def muller2021_of(item):
    """What a table or figure is made of, sources as configured."""
    return muller2021_needs(item, MULLER2021.source_languages)


def muller2021_needed(item):
    """Recipes of a table or figure, as far as they are configured."""
    compared = [] if item == "table5" else MULLER2021_COMPARED
    return [recipe for recipe in with_sets(muller2021_of(item).recipes, compared, MULLER2021) if recipe in MULLER2021_RECIPES]


def muller2021_models(item):
    """Names of the trainings of a table or figure: muller2021/TASK/SOURCE/SET/seedN."""
    return [f"{recipe}/seed{seed}" for recipe in muller2021_needed(item) for seed in muller2021_seeds(recipe)]


def muller2021_seeds(recipe):
    """An encoder that is not trained has one seed."""
    return MULLER2021.seeds if resolve(recipe, CONFIG).stages else MULLER2021.seeds[:1]


def muller2021_records(item):
    """How the models of a table or figure were made."""
    return [f"{RESULTS}/models/{model}/record.json" for model in muller2021_models(item)]


def muller2021_measures(item):
    """Scores and similarities that a table or figure shows."""
    found = []
    if "score" in muller2021_of(item).measures:
        trained = [recipe for recipe in muller2021_needed(item) if resolve(recipe, CONFIG).stages]
        found += [f"{RESULTS}/measures/scores/{recipe}.parquet" for recipe in trained]
    if "cka" in muller2021_of(item).measures:
        found += [f"{RESULTS}/measures/similarity/{model}.parquet" for model in muller2021_models(item)]
    return found
