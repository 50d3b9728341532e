"""Detection of keys of config.json that transformers ignores although they may change hidden states.

transformers keeps every key, but uses only those that it knows. If a later version no longer knows a key, such as relative
positions of BERT in version 5, it silently ignores it. The hidden states then differ from those of the published encoder.
"""

import inspect
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import fields
from importlib import import_module
from typing import Any

from transformers import GenerationConfig, PreTrainedConfig

READ = re.compile(r"""config\.(\w+)|(?:config, |kwargs\.get\(|kwargs\.pop\()["'](\w+)""")
"""Code with which an architecture reads a key that is not a field of its configuration."""
ROTARY = {"layer_norm_eps", "partial_rotary_factor", "rope_scaling", "rope_theta"}
"""Inert keys of architectures with rotary positions: those that became rope_parameters, and a key of BERT, unused there."""
INERT = {
    "_attn_implementation_autoset", "_commit_hash", "_name_or_path", "_num_labels", "eos_token_ids", "finetuning_task",
    "gradient_checkpointing", "model_type", "name_or_path", "num_labels", "output_past", "pooler_fc_size",
    "pooler_num_attention_heads", "pooler_num_fc_layers", "pooler_size_per_head", "pooler_type", "prefix", "reference_compile",
    "repad_logits_with_grad", "sbert_ce_default_activation_function", "sentence_transformers", "task_specific_params",
    "tie_encoder_decoder", "tie_weights_", "tokenizer_class", "torch_dtype", "transformers.js_config", "use_bfloat16",
}  # fmt: skip
"""Keys of published encoders that are unused, or used only by heads, tokenizers and generation."""
PATTERN = "_sliding_window_pattern"  # determines the attention of Gemma's layers unless layer_types does
INERT_PARTS = ("dropout", "_token_id", "summary_", "classifier_")
"""Parts of names; keys with such a part are inert too."""
INERT_VALUES: dict[str, tuple[Any, ...]] = {
    "adapters": ({},), "add_cross_attention": (False,), "causal": (False,), "causal_mask": (False,), "directionality": ("bidi",),
    "down_scale_factor": (1,), "gap_size": (0,), "is_causal": (False,), "is_decoder": (False,), "net_structure_type": (0,),
    "num_memory_blocks": (0,), "output_attentions": (False,), "position_embedding_type": ("absolute",), "pruned_heads": ({},),
    "torchscript": (False,),
}  # fmt: skip
"""Key that can change hidden states -> values in published encoders with which it does not."""


def find_ignored_keys(settings: Mapping[str, Any], configuration: type[PreTrainedConfig]) -> list[str]:
    """Keys of config.json that the architecture ignores although they may change hidden states, in the order of the file.

    settings: content of config.json. configuration: transformers' class for the architecture.
    """
    names = {field.name for field in fields(configuration)} | configuration.attribute_map.keys()
    rotary = "rope_parameters" in names
    names |= INERT | GenerationConfig().to_dict().keys() | (ROTARY if rotary else set())
    names |= {PATTERN} if settings.get("layer_types") else set()
    inert_values = INERT_VALUES | ({"position_embedding_type": ("absolute", "sans_pos")} if rotary else {})
    candidates = [
        key
        for key, value in settings.items()
        if key not in names and not any(part in key for part in INERT_PARTS) and value not in (None, *inert_values.get(key, ()))
    ]
    if candidates:
        names = set(_find_keys_in_code(configuration))
    return [key for key in candidates if key not in names]


def _find_keys_in_code(configuration: type[PreTrainedConfig]) -> Iterator[str]:
    """Names of keys that the code of an architecture's configuration and model reads."""
    module = configuration.__module__
    for name in (module, module.replace(".configuration_", ".modeling_")):
        import_module(name)
        for names in READ.findall(inspect.getsource(sys.modules[name])):
            yield from filter(None, names)
