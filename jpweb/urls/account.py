"""URL patterns of signing in and of a person's account."""

from __future__ import annotations

from django.urls import path

from jpweb.web.views.audit import ledger
from jpweb.web.views.identity import (
    account,
    group_joining,
    invitations,
    passkeys,
    second_factor,
    sign_in,
    single_sign_on,
)

urlpatterns = [
    path("sign-in", sign_in.sign_in, name="sign-in"),
    path("sign-out", sign_in.sign_out, name="sign-out"),
    path("join", invitations.join_workspace, name="join"),
    path("download", account.show_download, name="download"),
    path("account", account.show_account, name="account"),
    path("account/readers", ledger.show_readers, name="readers"),
    path("account/link", account.make_sign_in_link, name="account-link"),
    path("account/end", account.sign_out_everywhere, name="sign-out-everywhere"),
    path("account/end-one", account.end_sign_in, name="account-end-sign-in"),
    path("account/end-others", account.end_other_sign_ins, name="account-end-others"),
    path("account/data.json", account.download_personal_data, name="personal-data"),
    path("sign-in/with/<slug:provider_name>", single_sign_on.start_sign_in, name="sign-on"),
    path(
        "sign-in/with/<slug:provider_name>/callback",
        single_sign_on.finish_sign_on,
        name="sign-on-callback",
    ),
    path("account/groups/join", group_joining.join_group, name="group-join"),
    path("account/groups/leave", group_joining.leave_group, name="group-leave"),
    path(
        "account/identities/<slug:provider_name>/connect",
        single_sign_on.connect_identity,
        name="identity-connect",
    ),
    path(
        "account/identities/disconnect",
        single_sign_on.disconnect_identity,
        name="identity-disconnect",
    ),
    path("sign-in/passkey/options", passkeys.begin_sign_in, name="passkey-sign-in-options"),
    path("sign-in/passkey", passkeys.sign_in, name="passkey-sign-in"),
    path("account/passkeys/options", passkeys.begin_adding, name="passkey-options"),
    path("account/passkeys/add", passkeys.add_passkey, name="passkey-add"),
    path("account/passkeys/remove", passkeys.remove_passkey, name="passkey-remove"),
    path("sign-in/code", second_factor.enter_code, name="sign-in-code"),
    path("account/second-factor", second_factor.show_factor, name="second-factor"),
    path("account/second-factor/start", second_factor.begin_setup, name="second-factor-start"),
    path(
        "account/second-factor/confirm", second_factor.confirm_setup, name="second-factor-confirm"
    ),
    path(
        "account/second-factor/recovery-codes",
        second_factor.renew_recovery_codes,
        name="recovery-codes",
    ),
    path("account/second-factor/off", second_factor.turn_off, name="second-factor-off"),
]
