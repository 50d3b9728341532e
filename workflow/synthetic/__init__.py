"""A small multilingual grammar: sentences whose words, tags, trees, entities and translations are all known."""
