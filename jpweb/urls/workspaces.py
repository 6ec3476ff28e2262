"""URL patterns of settings, workspaces, their members and groups."""

from __future__ import annotations

from django.urls import path

from jpweb.urls.prefixes import WORKSPACE
from jpweb.web.views.workspaces import (
    addition,
    following,
    groups,
    people,
    question_settings,
    settings_page,
    tools,
    user_local_copies,
)

urlpatterns = [
    path("settings", settings_page.show_settings, name="settings"),
    path("settings/appearance", settings_page.save_appearance, name="settings-appearance"),
    path("settings/demo", settings_page.save_demo, name="settings-demo"),
    path("workspaces/add", addition.show_form, name="workspace-add"),
    path("workspaces/add/check", addition.check_folder, name="workspace-check"),
    path("workspaces/add/confirm", addition.add_workspace, name="workspace-confirm"),
    path(f"{WORKSPACE}/people", people.list_members, name="people"),
    path(f"{WORKSPACE}/writing", people.choose_writing, name="write-policy"),
    path(f"{WORKSPACE}/files", following.show_files, name="workspace-files"),
    path(
        f"{WORKSPACE}/following",
        following.choose_following,
        name="following-choose",
    ),
    path(
        f"{WORKSPACE}/copies",
        user_local_copies.confirm_copies,
        name="copies-confirm",
    ),
    path(f"{WORKSPACE}/people/invite", people.invite_member, name="people-invite"),
    path(
        f"{WORKSPACE}/people/withdraw",
        people.withdraw_invitation,
        name="people-withdraw",
    ),
    path(
        f"{WORKSPACE}/waiting",
        question_settings.show_question_settings,
        name="question-settings",
    ),
    path(
        f"{WORKSPACE}/waiting/choose",
        question_settings.choose_expiry,
        name="question-settings-choose",
    ),
    path(f"{WORKSPACE}/tools", tools.show_tools, name="tools"),
    path(f"{WORKSPACE}/tools/trust", tools.give_trust, name="tools-trust"),
    path(f"{WORKSPACE}/tools/withdraw", tools.withdraw_trust, name="tools-withdraw"),
    path(f"{WORKSPACE}/tools/switch", tools.switch_tool, name="tools-switch"),
    path(
        f"{WORKSPACE}/tools/overrides",
        tools.save_overrides,
        name="tools-overrides",
    ),
    path("groups", groups.list_groups, name="groups"),
    path("groups/new", groups.create_group, name="group-new"),
    path("groups/<key:group_id>", groups.show_group, name="group"),
    path("groups/<key:group_id>/add", groups.add_person, name="group-add"),
    path("groups/<key:group_id>/remove", groups.remove_person, name="group-remove"),
    path("groups/<key:group_id>/delete", groups.delete_group, name="group-delete"),
    path(f"{WORKSPACE}/groups/choose", groups.choose_role, name="group-role-choose"),
    path(f"{WORKSPACE}/groups/take", groups.take_role, name="group-role-take"),
    path("memberships/<key:membership_id>/role", people.change_role, name="member-role"),
    path("memberships/<key:membership_id>/link", people.make_member_link, name="member-link"),
    path("memberships/<key:membership_id>/remove", people.remove_member, name="member-remove"),
]
