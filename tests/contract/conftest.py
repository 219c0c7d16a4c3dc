"""Fixtures of the contract tests: a real PostgreSQL."""

from __future__ import annotations

from contract.postgres import database_url, ledger_template, module_database_url, postgres_url

__all__ = ["database_url", "ledger_template", "module_database_url", "postgres_url"]
