# muller2021: tables 1 to 8, figures 1 to 8, under results[/SCALE]/muller2021/. Not configured (null): no targets.

from crosslens.papers.muller2021.items import ITEMS as MULLER2021_SHOWN
from crosslens.papers.muller2021.items import needs as muller2021_needs
from crosslens.papers.muller2021.recipes import recipes as muller2021_recipes
from crosslens.papers.muller2021.recipes import set_name
from crosslens.papers.muller2021.recipes import study as muller2021_study
from crosslens.papers.muller2021.recipes import trials as muller2021_trials
from crosslens.papers.muller2021.recipes import with_sets

MULLER2021 = CONFIG.papers.muller2021
MULLER2021_COMPARED = [set_name(layers) for layers in MULLER2021.similarity.sets] if MULLER2021 else []
MULLER2021_RECIPES = list(muller2021_recipes(CONFIG))
MULLER2021_TABLES = [name for name in MULLER2021_SHOWN if name.startswith("table")]
MULLER2021_FIGURES = [name for name in MULLER2021_SHOWN if name.startswith("figure")]
MULLER2021_ITEMS = [f"{RESULTS}/muller2021/{name}.{form}" for name in [*MULLER2021_TABLES, "table3"] for form in ("csv", "html")]
MULLER2021_ITEMS += [f"{RESULTS}/muller2021/{name}.svg" for name in MULLER2021_FIGURES]
MULLER2021_ITEMS.append(f"{RESULTS}/scores/muller2021.parquet")
MULLER2021_ITEMS *= bool(MULLER2021)
SHOWN["muller2021"] = {
    "table1": ("muller2021", "Table 1", "Layers drawn anew: at home and across languages"),
    "table2": ("muller2021", "Table 2", "Layers drawn anew: across domains"),
    "table3": ("muller2021", "Table 3", "Hyperparameters"),
    "table3_search": ("muller2021", "Table 3, searched", "Grid search"),
    "table4": ("muller2021", "Table 4", "Does similarity go with transfer?"),
    "table5": ("muller2021", "Table 5", "Single layers, pairs, triples, quarters, all"),
    "table6": ("muller2021", "Table 6", "Parsing by language"),
    "table7": ("muller2021", "Table 7", "Part-of-speech tagging by language"),
    "table8": ("muller2021", "Table 8", "Named entities by language"),
    "figure1": ("muller2021", "Figure 1", "Similarity by layer, before and after fine-tuning"),
    "figure2": ("muller2021", "Figure 2", "Similarity with lower layers drawn anew, named entities"),
    "figure3": ("muller2021", "Figure 3", "Correlation of similarity and transfer by layer"),
    "figure4": ("muller2021", "Figure 4", "Similarity by layer, named entities, by language"),
    "figure5": ("muller2021", "Figure 5", "Similarity by layer, other languages"),
    "figure6": ("muller2021", "Figure 6", "Similarity with lower layers drawn anew, parsing"),
    "figure7": ("muller2021", "Figure 7", "Similarity with lower layers drawn anew, tagging"),
    "figure8": ("muller2021", "Figure 8", "Similarity with lower layers drawn anew, named entities, by language"),
    "muller2021": ("muller2021", "All records", "Every value behind the tables and figures"),
}


if MULLER2021:
    # What table 3 shows.
    MULLER2021_REFERENCES = [f"{RESULTS}/models/{model}" for model in muller2021_models("table4") if "/ref/" in model]

    rule muller2021_scores:
        """Score a recipe's predictions on all targets, all seeds."""
        input:
            predictions=[f"{RESULTS}/models/{{recipe}}/seed{seed}/predictions.parquet" for seed in MULLER2021.seeds],
            tokens=lambda wildcards: recipe_tokens(resolve(wildcards.recipe, CONFIG)),
        output:
            f"{RESULTS}/measures/scores/{{recipe}}.parquet",
        log:
            f"{LOGS}/measures/scores/{{recipe}}.log",
        wildcard_constraints:
            recipe="muller2021/.+",
        conda:
            "../../envs/measures.yaml"
        params:
            code=code("muller2021_scores"),
            settings=lambda wildcards: {
                "seeds": MULLER2021.seeds,
                "labels": resolve(wildcards.recipe, CONFIG).labels("task"),
                "bootstrap": MULLER2021.bootstrap,
                "common": muller2021_common(wildcards),
            },
            environment=environment("measures"),
        message:
            "Score {wildcards.recipe}"
        script:
            "../../workflow/scripts/muller2021_scores.py"

    rule muller2021_similarity:
        """CKA of English sentences with their translations, by layer."""
        input:
            states=f"{RESULTS}/states/{{recipe}}/seed{{seed}}",
        output:
            f"{RESULTS}/measures/similarity/{{recipe}}/seed{{seed}}.parquet",
        log:
            f"{LOGS}/measures/similarity/{{recipe}}/seed{{seed}}.log",
        wildcard_constraints:
            recipe="muller2021/.+",
        conda:
            "../../envs/measures.yaml"
        threads: CONFIG.threads
        resources:
            mem_mb=8000,
        params:
            code=code("muller2021_similarity"),
            settings=lambda wildcards: {
                "corpus": MULLER2021.parallel,
                "draws": MULLER2021.similarity.draws,
                "common": muller2021_common(wildcards),
            },
            environment=environment("measures"),
        message:
            "Compare languages under {wildcards.recipe}, seed {wildcards.seed}"
        script:
            "../../workflow/scripts/muller2021_similarity.py"

    rule muller2021_all_scores:
        """All records of the paper in one file."""
        input:
            lambda wildcards: sorted({file for item in MULLER2021_SHOWN for file in muller2021_measures(item)}),
        output:
            shown(f"{RESULTS}/scores/muller2021.parquet", "muller2021"),
        log:
            f"{LOGS}/scores/muller2021.log",
        conda:
            "../../envs/measures.yaml"
        params:
            code=code("gather"),
            settings={"paper": "muller2021"},
            environment=environment("measures"),
        message:
            "Gather the scores of muller2021"
        script:
            "../../workflow/scripts/gather.py"

    rule muller2021_table:
        """A table beside what was published."""
        input:
            scores=lambda wildcards: muller2021_measures(wildcards.table),
            records=lambda wildcards: muller2021_records(wildcards.table),
            encoder=f"{RESULTS}/encoders/{MULLER2021.encoder}",
            published="resources/published/muller2021.csv",
        output:
            table=shown(f"{RESULTS}/muller2021/{{table}}.csv", "muller2021"),
            record=f"{RESULTS}/muller2021/{{table}}.csv.json",
        log:
            f"{LOGS}/muller2021/{{table}}.log",
        wildcard_constraints:
            table="|".join(MULLER2021_TABLES),
        conda:
            "../../envs/measures.yaml"
        params:
            code=code("muller2021_table"),
            settings=lambda wildcards: {
                "recipes": muller2021_needed(wildcards.table),
                "study": muller2021_study(CONFIG),
                "further": [] if wildcards.table == "table5" else MULLER2021_COMPARED,
            },
            environment=environment("measures"),
        message:
            "Make {wildcards.table} of muller2021"
        script:
            "../../workflow/scripts/muller2021_table.py"

    rule muller2021_hyperparameters:
        """Table 3: the hyperparameters that are used, epochs and time."""
        input:
            records=[f"{model}/record.json" for model in MULLER2021_REFERENCES],
            histories=[f"{model}/history.csv" for model in MULLER2021_REFERENCES],
            published="resources/published/muller2021.csv",
        output:
            table=shown(f"{RESULTS}/muller2021/table3.csv", "muller2021"),
            record=f"{RESULTS}/muller2021/table3.csv.json",
        log:
            f"{LOGS}/muller2021/table3.log",
        conda:
            "../../envs/measures.yaml"
        params:
            code=code("muller2021_hyperparameters"),
            settings={"search": MULLER2021.search.model_dump()},
            environment=environment("measures"),
        message:
            "Make table 3 of muller2021"
        script:
            "../../workflow/scripts/muller2021_hyperparameters.py"

    rule muller2021_search:
        """Table 3 by grid search: the trials of each task and source, the best first."""
        input:
            histories=[f"{RESULTS}/models/{trial}/seed{MULLER2021.seeds[0]}/history.csv" for trial in muller2021_trials(CONFIG)],
            records=[f"{RESULTS}/models/{trial}/seed{MULLER2021.seeds[0]}/record.json" for trial in muller2021_trials(CONFIG)],
        output:
            table=shown(f"{RESULTS}/muller2021/table3_search.csv", "muller2021"),
            record=f"{RESULTS}/muller2021/table3_search.csv.json",
        log:
            f"{LOGS}/muller2021/table3_search.log",
        conda:
            "../../envs/measures.yaml"
        params:
            code=code("muller2021_search"),
            settings={"trials": {name: recipe.trial for name, recipe in muller2021_trials(CONFIG).items()}},
            environment=environment("measures"),
        message:
            "Make table 3 of muller2021 by search"
        script:
            "../../workflow/scripts/muller2021_search.py"

    rule muller2021_figure:
        """Curves by layer."""
        input:
            scores=lambda wildcards: muller2021_measures(wildcards.figure),
            records=lambda wildcards: muller2021_records(wildcards.figure),
        output:
            figure=shown(f"{RESULTS}/muller2021/{{figure}}.svg", "muller2021"),
            picture=f"{RESULTS}/muller2021/{{figure}}.png",
            record=f"{RESULTS}/muller2021/{{figure}}.svg.json",
        log:
            f"{LOGS}/muller2021/{{figure}}.log",
        wildcard_constraints:
            figure="|".join(MULLER2021_FIGURES),
        conda:
            "../../envs/figures.yaml"
        params:
            code=code("muller2021_figure"),
            settings={
                "study": muller2021_study(CONFIG),
                "layers": MULLER2021_COMPARED,
            },
            environment=environment("figures"),
        message:
            "Draw {wildcards.figure} of muller2021"
        script:
            "../../workflow/scripts/muller2021_figure.py"

    use rule tanti2021_page as muller2021_page with:
        input:
            table=f"{RESULTS}/muller2021/{{table}}.csv",
        output:
            shown(f"{RESULTS}/muller2021/{{table}}.html", "muller2021"),
        log:
            f"{LOGS}/muller2021/{{table}}.html.log",
        wildcard_constraints:
            table="|".join(name for name in SHOWN["muller2021"] if name[:5] == "table"),
        params:
            code=code("page"),
            settings=lambda wildcards: {"title": "{1}: {2}".format(*SHOWN["muller2021"][wildcards.table])},
            environment=environment("measures"),
