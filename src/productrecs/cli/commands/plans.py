"""`productrecs plans` and plan commands of a store: choose, suspend and resume."""

from collections.abc import Callable, Mapping
from pathlib import Path

import click

from productrecs.cli.open_services import open_services_as_owner, open_store
from productrecs.cli.options import data_option, json_option
from productrecs.cli.output import print_json
from productrecs.cli.settings_and_folder_owner import load_settings
from productrecs.core.errors import ProductRecsError
from productrecs.core.timestamps import iso, parse_timestamp
from productrecs.services import Services
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.accounts.store_management import (
    change_subscription,
    find_store,
    read_plan_usage,
)
from productrecs.tenancy.billing.plans_and_subscriptions import (
    Plan,
    Subscription,
    find_plan,
)

Facts = Mapping[str, object]


class PlanEndError(ProductRecsError):
    """The end of a plan cannot be read, or is in the past."""


@click.command("set-plan")
@click.argument("domain")
@click.argument("plan")
@click.option(
    "--until",
    help=(
        "The end of the plan, in the store's time zone: a date such as 2026-12-31, or "
        "a time such as 2026-12-31T18:00."
    ),
)
@json_option
@data_option
def set_plan(
    domain: str, plan: str, *, until: str | None, as_json: bool, data: Path | None
) -> None:
    """Change a store's plan at once; `trial` starts its days again.

    Example: productrecs store set-plan shop.example.com growth --until 2027-01-31
    """
    with open_store(data, domain) as (services, found):
        new_plan, now_ms = find_plan(services.settings.plans, plan), services.clock()
        ends_at = None if until is None else _parse_plan_end(until, found, now_ms)
        facts = _change_subscription_and_read_facts(
            services,
            found,
            lambda subscription: subscription.with_plan(new_plan, now_ms, ends_at),
        )
    _print_plan(facts, as_json=as_json)


@click.command()
@click.argument("domain")
@json_option
@data_option
def suspend(domain: str, *, as_json: bool, data: Path | None) -> None:
    """Suspend a store: its pages get nothing and its pushes are rejected.

    Its events and orders are still accepted.
    """
    with open_services_as_owner(data) as services:
        found, now_ms = find_store(services.database, domain), services.clock()
        facts = _change_subscription_and_read_facts(
            services, found, lambda one: one.suspended(now_ms)
        )
    _print_plan(facts, as_json=as_json)


@click.command()
@click.argument("domain")
@json_option
@data_option
def resume(domain: str, *, as_json: bool, data: Path | None) -> None:
    """End a suspension. An expired plan stays expired: see `store set-plan`."""
    with open_store(data, domain) as (services, found):
        facts = _change_subscription_and_read_facts(
            services, found, lambda one: one.resumed()
        )
    _print_plan(facts, as_json=as_json)


@click.command()
@json_option
@data_option
def plans(*, as_json: bool, data: Path | None) -> None:
    """List the plans of this installation and what each allows."""
    known_plans = load_settings(data).plans.values()
    if as_json:
        print_json(
            {
                plan.name: {
                    "monthly_calls": plan.monthly_calls,
                    "catalog_items": plan.catalog_items,
                    "days": plan.days,
                }
                for plan in known_plans
            }
        )
        return
    for plan in known_plans:
        days = "" if plan.days is None else f", for {plan.days} days"
        click.echo(f"{plan.name:<10} {describe_allowance(plan)}{days}")


def plan_facts(services: Services, store: Store) -> dict[str, object]:
    """Return a store's plan, its status and its usage."""
    usage = read_plan_usage(
        services.database, store, services.settings.plans, services.clock()
    )
    plan, subscription = usage.plan, store.subscription
    return {
        "plan": subscription.plan,
        "status": "active" if usage.notice is None else usage.notice.status.value,
        "plan_ends_at": None if subscription.ends_at is None else iso(subscription.ends_at),
        "suspended_at": None
        if subscription.suspended_at is None
        else iso(subscription.suspended_at),
        "month": usage.month,
        "calls": usage.calls,
        "calls_limit": None if plan is None else plan.monthly_calls,
        "catalog_limit": None if plan is None else plan.catalog_items,
    }


def describe_allowance(plan: Plan) -> str:
    """Return the limits of a plan as text."""
    return (
        f"{describe_limit(plan.monthly_calls)} calls a month, "
        f"{describe_limit(plan.catalog_items)} items"
    )


def plan_lines(store: Store, plan: Plan) -> list[str]:
    """Return lines about a plan for the person who registers a store."""
    lines = [f"plan             {plan.name}: {describe_allowance(plan)}"]
    ends_at = store.subscription.ends_at
    if ends_at is not None:
        command_line = f"productrecs store set-plan {store.domain} unlimited"
        over = "Then lists and searches are empty and pushes are refused."
        lines.append(f"{'':<17}It ends at {iso(ends_at)}. {over}")
        lines.append(f"{'':<17}For your own shop, without limits: {command_line}")
    return lines


def describe_limit(limit: object) -> str:
    """Return a limit as text."""
    return f"{limit:,}" if isinstance(limit, int) else "unlimited"


def _change_subscription_and_read_facts(
    services: Services, store: Store, change: Callable[[Subscription], Subscription]
) -> Facts:
    change_subscription(services.database, store, change)
    after = find_store(services.database, store.domain)
    return {"domain": after.domain, **plan_facts(services, after)}


def _print_plan(facts: Facts, *, as_json: bool) -> None:
    if as_json:
        print_json(facts)
        return
    words = [f"{facts['domain']}: plan {facts['plan']}, {facts['status']}"]
    if facts["suspended_at"] is not None:
        words.append(f"suspended since {facts['suspended_at']}")
    if facts["plan_ends_at"] is not None:
        words.append(f"ends {facts['plan_ends_at']}")
    click.echo("; ".join(words))


def _parse_plan_end(text: str, store: Store, now_ms: int) -> int:
    try:
        ends_at = parse_timestamp(text, store.settings.zone)
    except ValueError as error:
        message = f"--until {text} is no time; write one like 2027-01-31"
        raise PlanEndError(message) from error
    if ends_at <= now_ms:
        message = f"--until {text} is in the past; `store suspend` stops a store at once"
        raise PlanEndError(message)
    return ends_at
