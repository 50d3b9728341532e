# Functions that rules take their inputs and settings from.


def corpus_files(corpus):
    """All files of a corpus, in order."""
    return [f"{RESULTS}/corpora/{corpus}/{language}.{split}.parquet" for language, split in CONFIG.corpora[corpus].parts()]


def treebank_sources(wildcards, splits):
    """Official files by split, or the archive that holds them all."""
    corpus = CONFIG.corpora[wildcards.corpus]
    folder = f"{RESULTS}/sources/{corpus.source}"
    if corpus.archive:
        return {"archive": f"{folder}/{corpus.archive}"}
    files = {split: corpus.files_of(wildcards.language, split) for split in splits}
    return {split: [f"{folder}/{file}" for file in found] for split, found in files.items() if found}


def treebank_settings(splits):
    """What decides a treebank's rows beside its files."""

    def settings(wildcards):
        corpus = CONFIG.corpora[wildcards.corpus]
        asked = [wildcards.split] if splits is None else splits
        patterns = {split: corpus.files_of(wildcards.language, split) for split in asked} if corpus.archive else {}
        return {
            "patterns": {split: found for split, found in patterns.items() if found},
            "limits": {split: corpus.limits[split] for split in asked if split in corpus.limits},
            "validation_share": corpus.validation_share,
            "withheld": corpus.withheld,
            "seed": corpus.seed,
        }

    return settings


def encoder_texts(wildcards):
    """A trimmed or random encoder depends on the text that it will read; others on none."""
    settings = CONFIG.encoders[wildcards.encoder]
    if settings.trim or settings.source == "random":
        return [file for corpus in CONFIG.corpora for file in corpus_files(corpus)]
    return []


def recipe_tokens(recipe):
    """Folders of tokens that a recipe reads."""
    corpora = dict.fromkeys(corpus for corpus, _, _ in recipe.files())
    return [f"{RESULTS}/tokens/{recipe.encoder}/{corpus}" for corpus in corpora]


def tanti2021_common(wildcards):
    """What all records of a training share."""
    recipe = resolve(wildcards.recipe, CONFIG)
    return {"paper": "tanti2021", "encoder": recipe.encoder, "recipe": recipe.name, "task": "pos"}


def tanti2021_records(runs):
    """How the models of some runs were made."""
    return [
        f"{RESULTS}/models/tanti2021/pos/{run}/seed{seed}/record.json"
        for run in runs
        if run in TANTI2021.runs
        for seed in CONFIG.seeds
    ]


def tanti2021_measures(runs, kinds):
    """Records of some kinds for the configured runs among `runs`, all seeds; 'spelling' is the baseline without a model."""
    found = [
        f"{RESULTS}/measures/{kind}/tanti2021/pos/{run}/seed{seed}.parquet"
        for kind in kinds
        for run in runs
        if run in TANTI2021.runs
        for seed in CONFIG.seeds
    ]
    return found + [f"{RESULTS}/measures/spelling/tanti2021/pos.parquet"] * ("spelling" in runs)
