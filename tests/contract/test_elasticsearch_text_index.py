"""Elasticsearch keeps the contract of `TextIndex`, and what a server adds to it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from cluster.stores.elasticsearch.index import ElasticsearchTextIndex
from contract.text_index import TextIndexContract
from servers.elasticsearch_index import new_settings, removed

pytestmark = pytest.mark.stores


class TestElasticsearchTextIndex(TextIndexContract):
    @pytest.fixture
    async def index(self, elasticsearch_url: str) -> AsyncIterator[ElasticsearchTextIndex]:
        settings = new_settings(elasticsearch_url)
        index = await ElasticsearchTextIndex.open(settings)
        yield index
        await index.close()
        await removed(settings)
