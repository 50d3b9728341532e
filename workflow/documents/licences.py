"""docs/licences.md."""
