"""Plans are numbered, chained and never overwritten."""

import asyncio

import pytest

from domain.plan import INITIAL_PLAN, InvalidPlan, PlanConflict, chain_hash
from storage import json
from storage.plans import PlanRows

pytestmark = pytest.mark.integration


async def test_a_published_plan_is_the_latest_and_links_to_the_one_before(pool):
    plans = PlanRows(pool)
    before = await plans.latest()
    document = {**INITIAL_PLAN, "traffic": {"langgraph_ppm": 250_000}}
    published = await plans.publish(document, author="me", reason="canary", based_on=before.version)
    assert published.version == before.version + 1
    assert await plans.latest() == published
    rows = await pool.fetch("SELECT * FROM app.rollout_plans ORDER BY version")
    for previous, row in zip([None, *rows], rows, strict=False):
        assert row["prev_hash"] == (previous["hash"] if previous else "")
        assert row["hash"] == chain_hash(row["prev_hash"], json.loads(row["document"]), row["author"], row["reason"])


async def test_of_two_who_publish_at_once_one_is_told(pool):
    plans = PlanRows(pool)
    base = (await plans.latest()).version
    results = await asyncio.gather(
        *(plans.publish(INITIAL_PLAN, author=str(n), reason="", based_on=base) for n in range(3)), return_exceptions=True
    )
    conflicts = [error for error in results if isinstance(error, PlanConflict)]
    assert len(conflicts) == 2
    assert {error.newest for error in conflicts} == {base + 1}


async def test_who_is_overtaken_between_reading_and_writing_is_told_too(pool, monkeypatch):
    plans, slow = PlanRows(pool), PlanRows(pool)
    stale = await slow._latest_row()
    newer = await plans.publish(INITIAL_PLAN, author="fast", reason="", based_on=stale["version"])

    async def as_it_was():
        return stale

    monkeypatch.setattr(slow, "_latest_row", as_it_was)
    with pytest.raises(PlanConflict):
        await slow.publish(INITIAL_PLAN, author="slow", reason="", based_on=stale["version"])
    assert await plans.latest() == newer


async def test_an_invalid_plan_is_not_stored(pool):
    plans = PlanRows(pool)
    before = await plans.latest()
    with pytest.raises(InvalidPlan):
        await plans.publish({**INITIAL_PLAN, "default": "x"}, author="me", reason="", based_on=before.version)
    assert await plans.latest() == before
