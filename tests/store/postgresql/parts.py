"""Tests that run again on PostgreSQL: ``CORE`` in one process, the parts under ``make proof``.

A test file belongs to ``QUERIES`` or ``RACES`` if the engine decides whether its facts hold: raw
SQL, search, JSON, text with NUL and migrations, or locks, concurrency and constraints.
Files of ``REST`` reach the database by Django's queries alone. ``CORE`` has at least one test of
each module that depends on the engine.
"""

from __future__ import annotations

import os
import random
import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tests.machine.servers import Cluster
from tests.machine.sizes import IS_PROOF

ROOT = Path(__file__).resolve().parents[3]
STORE = ROOT / "jpweb" / "store"
#: How a module of the store shows that it depends on the engine.
ENGINE = re.compile(
    r"\.cursor\(|RawSQL\(|RunSQL\(|\.raw\(|\.extra\(|\.vendor\b|schema_editor\.execute"
    r"|select_for_update|connection\.features|except .*IntegrityError|suppress\(IntegrityError"
)


class Part(NamedTuple):
    """Modules below ``jpweb/store`` that depend on the engine, and the tests that prove them."""

    modules: tuple[str, ...]
    tests: tuple[str, ...]


QUERIES = Part(
    modules=(
        "backups/snapshot.py",
        "backups/tables.py",
        "rebuild.py",
        "database/base.py",
        "database/clock.py",
        "database/scan_limits.py",
        "database/timeouts.py",
        "jp_files/row_writer.py",
        "search/dialects.py",
        "search/indexer.py",
        "derived_rows/passage_queries.py",
        "search/engine.py",
        "search/find_in_conversation.py",
        "conversation_list/filters.py",
        "sql/keyset_merge.py",
        "migrations/0005_finding.py",
        "migrations/0011_renamed_tables_and_columns.py",
        "migrations/0023_workspaces_of_inquiries.py",
        "migrations/0051_redundant_indexes.py",
        "sql/bulk.py",
        "sql/compiled_query.py",
        "sql/distinct_values.py",
        "sql/compiled_write.py",
        "bootstrap.py",
        "redaction/remains.py",
    ),
    tests=(
        "tests/store/sql/test_spellings.py",
        "tests/store/sql/test_column_converters.py",
        "tests/store/sql/test_keyset_merge.py",
        "tests/store/backups",
        "tests/store/redaction",
        "tests/store/transcript",
        "tests/store/database/test_clock.py",
        "tests/store/database/test_scan_limits.py",
        "tests/store/search",
        "tests/store/conversation_list",
        "tests/store/derived_rows",
        "tests/store/test_bootstrap.py",
        "tests/store/database/test_indexes.py",
        "tests/store/test_migrations.py",
        "tests/web/forms/test_nul_in_addresses.py",
    ),
)
RACES = Part(
    modules=(
        "accounts.py",
        "annotations/threads.py",
        "conversations.py",
        "evidence/importer.py",
        "jp_files/mirror.py",
        "journal.py",
        "ledger/newest_entries.py",
        "ledger/sealing.py",
        "people/groups.py",
        "people/invitations.py",
        "people/member_roles.py",
        "people/passkeys.py",
        "people/second_factors.py",
        "people/sessions.py",
        "reviews/assignments.py",
        "reviews/question_states.py",
        "reviews/reviews.py",
        "reviews/state_counts.py",
        "maintenance/deactivation.py",
        "maintenance/task_leases.py",
        "run_queue/leases.py",
        "runs.py",
        "notifications/destinations.py",
        "notifications/deliveries.py",
        "notifications/push_subscriptions.py",
        "workspace_config/demo_membership.py",
        "workspace_config/following.py",
        "inbox/claims.py",
        "inbox/presence.py",
        "inbox/receipt_log.py",
    ),
    tests=(
        "tests/store/jp_files/test_mirror.py",
        "tests/store/jp_files/test_reviewed_questions.py",
        "tests/store/evidence",
        "tests/store/people",
        "tests/store/maintenance",
        "tests/store/ledger",
        "tests/store/reviews",
        "tests/store/run_queue",
        "tests/store/notifications/test_destinations.py",
        "tests/store/notifications/test_deliveries.py",
        "tests/store/notifications/test_returned_questions.py",
        "tests/store/inbox/test_claims.py",
        "tests/store/inbox/test_snoozes.py",
        "tests/store/inbox/test_presence.py",
        "tests/store/inbox/test_receipt_log.py",
        "tests/web/annotations/test_comments.py",
        "tests/web/forms/test_push_subscriptions.py",
        "tests/store/workspace_config/test_following.py",
        "tests/web/views/workspaces/test_settings_page.py",
        "tests/store/test_accounts.py",
        "tests/store/test_conversations.py",
        "tests/store/test_journal.py",
        "tests/store/test_races.py",
        "tests/store/test_run_events.py",
        "tests/store/test_runs.py",
    ),
)
CORE = (
    "tests/store/redaction/test_remains.py::test_erase_remains_leaves_nothing_on_disk",
    "tests/store/redaction/test_remains.py::test_erase_remains_fails_while_an_older_snapshot_is_open",
    "tests/store/redaction/test_remains.py::test_erase_remains_says_which_table_a_role_may_not_rewrite",
    "tests/store/backups/test_backups.py::test_backup_holds_one_moment_of_the_database",
    "tests/store/backups/test_backups.py::test_new_rows_follow_the_restored_keys",
    "tests/store/backups/test_backups.py::test_restored_rows_equal_the_saved_ones",
    "tests/store/transcript/test_appended_entries.py::test_rows_that_grew_are_those_of_the_whole_stream",
    "tests/store/database/test_clock.py::test_clock_now_returns_the_database_time",
    "tests/store/database/test_clock.py::test_database_and_process_agree_to_the_second",
    "tests/store/jp_files/test_mirror.py::test_mirror_keeps_entries_while_a_conversation_is_unreadable",
    "tests/store/search/test_indexer.py::test_deleted_conversation_deletes_its_passages",
    "tests/store/search/test_indexer.py::test_two_concurrent_indexers_lose_no_passage",
    "tests/store/search/test_indexer.py::test_indexer_discards_passages_of_events_replaced_meanwhile",
    "tests/store/search/test_engine.py::test_search_finds_passages_by_query_text",
    "tests/store/search/test_engine.py::test_search_compares_bodies_only_for_cjk_queries",
    "tests/store/search/test_engine.py::test_search_tool_filter_matches_names_and_prefixes",
    "tests/store/search/test_engine.py::test_search_and_its_counts_cover_only_readable_workspaces",
    "tests/store/search/test_engine.py::test_search_accepts_any_query_text",
    "tests/store/search/test_conversation_groups.py::test_groups_without_all_words_rank_by_matched_words",
    "tests/store/search/test_conversation_groups.py::test_text_without_blanks_is_found_by_a_part_of_it",
    "tests/store/search/test_find_in_conversation.py::test_find_matches_returns_events_with_all_words",
    "tests/store/sql/test_spellings.py",
    "tests/store/conversation_list/test_paginator.py::test_filters_list_only_matching_conversations",
    "tests/store/conversation_list/test_paginator.py::test_workspaces_are_merged_in_one_order",
    "tests/store/people/test_invitations.py::test_take_without_a_sign_in_makes_a_new_person",
    "tests/store/people/test_invitations.py::test_take_ends_every_other_sign_in_and_link",
    "tests/store/people/test_invitations.py::test_withdraw_of_an_invitation_accepted_meanwhile_is_no_entry",
    "tests/store/people/test_passkeys.py",
    "tests/store/people/test_second_factors.py",
    "tests/store/people/test_sessions.py::test_record_requests_keeps_a_session_and_revives_none",
    "tests/store/people/test_sessions.py::test_save_after_the_session_ended_raises",
    "tests/store/derived_rows",
    "tests/store/maintenance/test_deactivation.py::test_deactivation_ends_sign_ins_links_and_invitations",
    "tests/store/maintenance/test_task_leases.py::test_task_lease_has_one_holder",
    "tests/store/maintenance/test_task_leases.py::test_a_lease_lasts_from_the_databases_now",
    "tests/store/maintenance/test_task_leases.py::test_task_lease_passes_to_another_process_after_expiry",
    "tests/store/ledger/test_chain.py::test_entry_of_a_failed_act_is_rolled_back_with_it",
    "tests/store/ledger/test_chain.py::test_verification_names_the_entry_that_was_tampered_with",
    "tests/store/ledger/test_chain.py::test_sealing_continues_behind_the_signed_head",
    "tests/store/ledger/test_chain.py::test_sealing_more_entries_than_a_batch_takes_several",
    "tests/store/ledger/test_chain.py::test_purged_entries_are_tombstones_that_verify",
    "tests/store/ledger/test_chain.py::test_act_while_kept_heads_are_read_is_no_problem",
    "tests/store/ledger/test_concurrent_writers.py",
    "tests/store/ledger/test_forged_entries.py::test_seal_entries_seals_entries_after_more_forged_than_a_batch",
    "tests/store/ledger/test_tree.py::test_tree_that_grows_in_batches_is_that_of_one_batch",
    "tests/store/ledger/row_checks/test_decision_rows.py::test_deleted_reviews_are_named",
    "tests/store/reviews/test_reviews.py::test_review_sent_twice_is_saved_once",
    "tests/store/reviews/test_reviews.py::test_concurrent_reviews_of_a_question_keep_one",
    "tests/store/reviews/test_state_counts.py",
    "tests/store/reviews/test_inquiry_pages.py::test_pages_of_an_order_have_each_question_once_in_it",
    "tests/store/reviews/test_inquiry_pages.py::test_text_with_nul_matches_nothing",
    "tests/store/reviews/test_inquiry_pages.py::test_account_of_a_name_is_looked_for_among_the_rows_of_the_name",
    "tests/store/run_queue/test_leases.py::test_a_queued_run_is_taken_once",
    "tests/store/run_queue/test_leases.py::test_run_of_a_dead_process_is_queued_and_fenced",
    "tests/store/run_queue/test_leases.py::test_requeue_expired_requeues_a_run_once_for_two_processes",
    "tests/store/run_queue/test_leases.py::test_settled_question_requeues_its_parked_run",
    "tests/store/run_queue/test_leases.py::test_park_run_is_refused_when_its_question_is_settled",
    "tests/store/run_queue/test_lease_races.py",
    "tests/store/notifications/test_destinations.py::test_an_address_is_kept_once_for_a_workspace",
    "tests/store/notifications/test_deliveries.py::test_list_due_leaves_room_beside_a_destination_with_older_due",
    "tests/store/notifications/test_deliveries.py::test_a_claim_is_made_once_and_makes_one_link",
    "tests/store/notifications/test_returned_questions.py::test_claim_delivery_of_a_return_succeeds_in_one_process_alone",
    "tests/store/inbox/test_claims.py::test_claim_question_of_another_person_keeps_the_first_holder",
    "tests/store/inbox/test_claims.py::test_claim_question_after_a_claim_lapsed_has_a_new_holder",
    "tests/store/inbox/test_snoozes.py::test_snooze_question_hides_it_from_its_person_alone",
    "tests/store/inbox/test_presence.py::test_a_page_of_another_process_counts_as_well",
    "tests/store/inbox/test_presence.py::test_presence_without_refresh_lasts_45_seconds",
    "tests/store/inbox/test_presence.py::test_record_presence_skips_deleted_people_and_workspaces",
    "tests/store/inbox/test_receipt_log.py::test_save_receipts_keeps_the_first_time_of_each_stage",
    "tests/web/annotations/test_comments.py::test_comments_stay_when_the_conversation_is_copied_again",
    "tests/web/forms/test_push_subscriptions.py::test_a_browser_is_listed_without_its_keys_until_it_signs_out",
    "tests/web/views/workspaces/test_settings_page.py::test_show_demo_gives_the_role_back_that_was_set_aside",
    "tests/store/test_conversations.py::test_conversations_created_at_one_instant_have_different_ids",
    "tests/store/test_journal.py::test_append_events_keeps_the_order_of_events",
    "tests/store/test_journal.py::test_second_response_to_a_question_is_refused_and_not_recorded",
    "tests/store/test_journal.py::test_hostile_text_is_kept_and_found",
    "tests/store/test_journal.py::test_conversation_has_one_run_at_a_time",
    "tests/store/test_journal.py::test_start_run_records_the_run_and_its_turn_atomically",
    "tests/store/test_races.py",
    "tests/store/test_runs.py::test_run_whose_journal_refuses_its_end_is_lost_and_others_recover",
    "tests/store/test_bootstrap.py::test_prepare_refuses_a_table_that_lacks_a_column",
    "tests/store/test_bootstrap.py::test_unreachable_database_error_is_one_line",
)
REST = {
    "store": (
        "tests/store/jp_files/test_metadata_file.py",
        "tests/store/jp_files/test_external_appends.py",
        "tests/store/jp_files/passes/test_pass_progress.py",
        "tests/store/inbox/test_previous_answers.py",
        "tests/store/notifications/test_answer_links.py",
        "tests/store/inbox/test_queue.py",
        "tests/store/test_audit.py",
        "tests/store/test_approvals.py",
    ),
    "runtime": (
        "tests/runtime/periodic/test_expire_inquiries.py",
        "tests/runtime/periodic/test_scheduler.py",
        "tests/runtime/execution",
        "tests/runtime/inquiries/secret_channel",
        "tests/runtime/inquiries/test_resolution.py",
        "tests/runtime/inquiries/test_approvals.py",
        "tests/runtime/test_runs.py",
        "tests/runtime/inquiries/test_secret_handover.py",
    ),
    "downloads": (
        "tests/runtime/test_exports.py",
        "tests/web/security/test_download_responses.py",
    ),
}


def run_tests(tests: Sequence[str], cluster: Cluster, data: Path) -> None:
    """Run tests on a migrated database, in a process of their own; fail with what it prints.

    It is a copy: migrating an empty one took 14 s. The order of the tests follows from the seed of
    this process, and is printed with a failure.
    """
    # pytest-django puts this in front of the name; --reuse-db takes what is there.
    database = cluster.make_migrated(prefix="test_").replace("/test_", "/")
    # Twenty that write at once may wait longer than 5 s for each other.
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")} | {
        "DATABASE_URL": f"{database}?options=-c%20lock_timeout=60000",
        "JPWEB_DATA": str(data),
        "JPWEB_TEST_VENDOR": "postgresql",
    }
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--reuse-db"]
    seed = random.getrandbits(31)
    command += [f"--randomly-seed={seed}", *([] if IS_PROOF else ["-m", "not proof"]), *tests]
    result = subprocess.run(
        command, check=False, cwd=ROOT, env=env, capture_output=True, text=True, timeout=600
    )
    output = result.stdout[-8000:] + result.stderr[-2000:]
    assert result.returncode == 0, f"{shlex.join(command)}\n{output}"
