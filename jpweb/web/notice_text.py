"""Sentences with which forms and views respond: errors, confirmations and refusals.

``str.format`` fills their placeholders. Labels are in ``display_text``. An exception of a layer
below carries its own sentence.
"""

from __future__ import annotations

# Forms
MESSAGE_REQUIRED = "Enter a message."
NAME_REQUIRED = "Enter a name."
ROLE_REQUIRED = "Choose a role."
URL_REQUIRED = "Enter a URL."
WORKSPACE_REQUIRED = "Choose a workspace."
RESPONDER_WORKSPACE_REQUIRED = "Choose a workspace in which you can answer."
DELAY_INVALID = "Enter a whole number of seconds from 0 to {max_seconds} (one day)."
EXPIRY_REQUIRED = "Choose when questions expire."
EXPIRY_NUMBER_INVALID = "Enter a whole number of minutes, hours or days."
EXPIRY_UNIT_REQUIRED = "Choose a unit."
EXPIRY_OUT_OF_RANGE = "The custom time can be from 1 minute to 366 days."
DATE_INVALID = "“{field}” must be a date such as 2026-05-31."
KEY_INVALID = "“{field}” must be a whole number of at most 18 digits."
PERIOD_REVERSED = "From is after To."
#: ``value`` is filled by Django.
OUTCOME_UNKNOWN = "Unknown outcome “%(value)s”. Use one of: {states}."
#: ``value`` is filled by Django.
ACT_UNKNOWN = "Unknown act “%(value)s”. Choose one from the list."
LEDGER_EMPTY = "The ledger is empty."
OPTION_REQUIRED = "Choose one of the options."
APPEARANCE_SAVED = "Appearance saved."
DEMO_HIDDEN = "The demo is hidden. Show it again under Settings."
DEMO_SHOWN = "The demo is back."

# Answers
ANSWER_REQUIRED = "Enter an answer, or decline."
NO_WAITING_CALL = (
    "The tool call isn't waiting for this secret right now. Your input was discarded, not "
    "stored. If it is still needed, you will be asked again."
)

# Snoozes
SNOOZE_TIME_REQUIRED = "Choose for how long to hide the question."
SNOOZE_REFUSED = "This question can't be snoozed: it expires within minutes, or is closed already."

# Rate limits
TOO_MANY_SEARCHES = "You searched {count} times within a minute. Try again in {seconds} s."
TOO_MANY_INVALID_LINKS = "Too many invalid links from your address. Try again in {seconds} s."

# Sign-ins and invitations
SIGNED_OUT = "Signed out."
SIGNED_OUT_EVERYWHERE = "Signed out on all devices."
SIGN_IN_ENDED = "That browser is signed out."
SIGN_IN_MISSING = "That sign-in has ended already, or it is this browser's own."
OTHER_SIGN_INS_ENDED = "Your other sign-ins have ended."
UNPROVEN_SIGN_INS_ENDED = (
    "The sign-ins that someone else's link may have begun have ended, except this one."
)
SESSION_BY_ANOTHERS_LINK = (
    "Someone else's link signed you in here, so passkeys that you add in this session end when you "
    "join another workspace. For a sign-in of your own, ask the operator to run jpweb sign_in_link."
)
LINK_WITHOUT_EFFECT = (
    "A link made here wouldn't work: someone else's link signed you in, and they don't own all of "
    "your workspaces. Add a passkey, or ask the operator to run jpweb sign_in_link."
)
CREDENTIALS_REMOVED = "Removed from your account: {names}. You can no longer sign in that way."
INVITATION_DECLINED = "Declined the invitation to {workspace}."
JOINED = "You joined {workspace} as {role}."

# Single sign-on
PROVIDER_UNREACHABLE = "{provider} isn't responding correctly. Try again, or sign in with a link."
SIGN_ON_CANCELLED = "{provider} didn't sign you in: it was cancelled or refused there."
SIGN_ON_EXPIRED = "This sign-in took too long or was started in another browser. Start again."
SIGN_ON_INVALID = "{provider}'s reply didn't prove who you are. Start again."
TOO_MANY_SIGN_ONS = "Too many sign-ins from your address. Try again in {seconds} s."
IDENTITY_CONNECTED = "You can now sign in with {provider}."
IDENTITY_DISCONNECTED = "{provider} no longer signs you in."
IDENTITY_MISSING = "This identity is already disconnected."

# Passkeys
PASSKEY_ADDED = "You can now sign in with the passkey “{name}”."
PASSKEY_REMOVED = "The passkey “{name}” no longer signs you in. Delete it on your device, too."
PASSKEY_MISSING = "This passkey is already removed."
PASSKEY_NOT_ADDED = "The passkey wasn't added: the attempt took too long or isn't valid. Try again."
PASSKEY_DEFAULT_NAME = "Passkey"
PASSKEY_REFUSED = (
    "No passkey signed you in: it is unknown here, or the attempt took too long. Try again, or "
    "sign in another way."
)
PASSKEYS_UNAVAILABLE = (
    "Passkeys need an https address with a domain name. On the server's own machine, open jpweb "
    "as “localhost”."
)

# The second factor
CODE_WRONG = (
    "This code is wrong, or it was used before. Wait for your app's next code, or enter a recovery "
    "code."
)
CODE_LOCKED = "Too many wrong codes. Try again after {until}."
CODE_EXPIRED = "The code took too long. Open your sign-in link again."
SETUP_CODE_WRONG = (
    "This code is wrong. Check that your app has this key, and enter its newest code."
)
SECOND_FACTOR_ON = "Your sign-in links now also ask for a code."
SECOND_FACTOR_UNPROVEN = (
    "Your second factor is off: someone else's link may have led to it. Set it up again under "
    "Account."
)
SIGN_INS_BY_OTHERS_ENDED = "The sign-ins that someone else's link began have ended."
SECOND_FACTOR_OFF = "Your sign-in links no longer ask for a code."
SECOND_FACTOR_ALREADY_ON = "The second factor is on already."
SECOND_FACTOR_MISSING = "The second factor is off already."

# Conversations
CONVERSATION_PINNED = "Pinned “{title}”."
CONVERSATION_UNPINNED = "Unpinned “{title}”."
CONVERSATION_ARCHIVED = "Archived “{title}”."
CONVERSATION_UNARCHIVED = "Unarchived “{title}”."
CONVERSATION_RENAMED = "Renamed to “{title}”."
LABEL_ADDED = "Added the label “{label}” to “{title}”."
LABEL_REMOVED = "Removed the label “{label}” from “{title}”."
CHANGE_REQUIRED = "Choose what to change."
ENTRY_COUNT_INVALID = "entry_count must be a number of events, such as entry_count=12."
STEP_UNKNOWN = "Unknown step. Use what=<one of {sorts}>."
NO_EARLIER_EVENT = "No earlier {sort}."
NO_LATER_EVENT = "No later {sort}."

# Turns
CONVERSATION_NOT_STARTED = "Can't start a conversation in {workspace}. {problem}"
TURN_NOT_STARTED = "The turn didn't start. {problem}"
NO_TURN_RUNNING = "No turn is running."
NO_TURN_TO_INTERRUPT = (
    "No turn is running; nothing was sent. Your text is below: send it as a message."
)
NO_CALLS_TO_RERUN = "No tool calls are running; nothing was rerun."

# What the model saw
EVENTS_NOT_SENT = "Not sent: {count}."
REASONING_SENT_BACK = "Reasoning is sent back if the provider accepts it."
RESULT_MISSING = "1 call has no stored result; the model receives “{replacement}”"
RESULTS_MISSING = "{count:,} calls have no stored result; the model receives “{replacement}”"

# Search
SEARCH_NAME_REQUIRED = "Enter a name for this search."
SEARCH_NOT_SAVABLE = "There is no search to save, or it is too long to save."
SEARCH_LIMIT_REACHED = "You have {max_count} saved searches. Delete one to save another."
#: Of a search, and of a view of a table.
SAVED_NAME_TOO_LONG = "Shorten the name to {limit} characters."
SEARCH_SAVED = "Saved as “{name}”."
SEARCH_DELETED = "Deleted the saved search."
SEARCH_ALREADY_DELETED = "This search was already deleted."

# Notifications
CHANNEL_ADDED = "Added {channel}. Send a test to check it."
CHANNEL_REMOVED = "Removed the channel."
BROWSER_ADDED = "This browser now gets notifications. Send a test to check it."
MENTIONS_ON = "You get notifications of mentions."
MENTIONS_OFF = "You get no notifications of mentions."
BROWSER_REMOVED = "Removed the browser."
BROWSER_UNKNOWN = "browser"
PUSH_NEEDS_SCRIPT = "The browser sent no subscription. This needs JavaScript."
TEST_SENT = "Sent a test to {channel}."
TEST_FAILED = "The test to {channel} failed. {problem}"

# People and workspaces
INVITATION_WITHDRAWN = "Withdrew the invitation for {name}."
INVITATION_UNKNOWN = "This invitation no longer exists."
MEMBER_LINK_REFUSED = (
    "You can't create a sign-in link for {name}. They can create one under Account, or the "
    "operator can."
)
MEMBER_DEACTIVATED = "{name} is deactivated: a sign-in link would not let them in."
ROLE_CHANGED = "{name} is now {role}."
OWN_ROLE_CHANGED = "{name}'s own role is now {own_role}. By group {groups}, {name} is {role}."
MEMBER_REMOVED = "Removed {name} from this workspace."
GROUP_CREATED = "Created the group {group}."
GROUP_DELETED = "Deleted the group {group}."
GROUP_UNKNOWN = "This group no longer exists, or you don't own all of its workspaces."
GROUP_PERSON_REQUIRED = "Choose a person."
GROUP_PERSON_PRESENT = "{name} is in {group} already."
GROUP_PERSON_ABSENT = "This person is no longer in {group}."
GROUP_PERSON_ADDED = "Added {name} to {group}."
GROUP_PERSON_INVITED = "Added {name} to {group}. They can join under Account."
GROUP_PERSON_REMOVED = "Removed {name} from {group}."
GROUP_ROLE_GIVEN = "Everyone in {group} now has at least the role {role} in {workspace}."
GROUP_ROLE_OFFERED = (
    "Everyone who joined {group} now has at least the role {role} in {workspace}. Some people have "
    "not joined the group yet."
)
GROUP_ROLE_TAKEN = "{group} no longer gives a role in {workspace}."
GROUP_JOINED = "You joined the group {group}."
GROUP_DECLINED = "You declined the group {group}."
GROUP_LEFT = "You left the group {group}."
GROUP_NEEDS_OWN_SIGN_IN = (
    "You can't join a group in this session: someone else's link signed you in. Join where you "
    "signed in without such a link, or accept an invitation here to the group's workspaces. For a "
    "sign-in of your own, ask the operator to run jpweb sign_in_link."
)
WRITE_POLICY_SAVED = "Changed. Save web conversations to {folder}: {policy}."
FOLLOWING_STOPPED = "{name} is no longer followed. Its conversations stay as they are now."
FOLLOWING_RESUMED = "{name} is followed again. Changes made meanwhile appear within seconds."
COPIES_CONFIRMED = "jpweb now reads the user-local copies."
WORKSPACE_ADDED = (
    "Added {workspace}. jpweb is reading its conversations, and then follows its files."
)
QUESTIONS_EXPIRE = "New unanswered questions in {workspace} expire after {time}."
QUESTIONS_NEVER_EXPIRE = "New unanswered questions in {workspace} never expire."

# Tools
TRUST_GIVEN = "Trusted: {names}."
TRUST_GIVEN_THERE = "Trusted in this conversation alone: {names}."
TRUST_WITHDRAWN = "No longer trusted: {names}."
ALL_TOOLS_ENABLED = "All tools are now enabled."
ALL_TOOLS_DISABLED = "All tools are now disabled."
TOOLS_NOT_SWITCHED = "Not changed (locked, or enabled only by name): {names}."
TOOL_ENABLED = "{name} is now enabled."
TOOL_DISABLED = "{name} is now disabled."
OVERRIDES_SAVED = "Saved the overrides."

# Reviews
VERDICT_REQUIRED = "Choose a verdict."
REVIEW_NOTE_REQUIRED = "Write a note: say why it isn't fine."
REVIEW_SAVED = "Saved your review."
REVIEW_HELD = "{name} is reviewing this until {time} UTC. Choose another, or come back then."
AUDITOR_REQUIRED = "Choose an auditor of this workspace."
REVIEW_ASSIGNED = "Assigned to {name}."
REVIEW_UNASSIGNED = "Unassigned."
QUEUE_EMPTY = "Nothing is left for you in “{queue}”."
REVIEW_COUNT_SAVED = "Saved. Each question of {workspace} now needs {count}."

# Redaction
REDACTION_SCOPE_REQUIRED = "Choose what to replace."
REDACTION_STRINGS_TOO_LONG = "These strings are too long. Redact all content of the event instead."
REDACTION_STRING_TOO_SHORT = "Enter strings of at least {count} characters, one per line."
REDACTION_TOO_MANY_STRINGS = "Enter at most {limit} strings. Redact the others afterwards."
REDACTION_REASON_REQUIRED = "Give a reason. It is shown in place of the content."
REDACTION_REASON_TOO_LONG = "Shorten the reason to {limit} characters."
EVENT_REDACTED = "Redacted. The ledger says who, when and why."
SUSPICION_STATE_UNKNOWN = "Unknown state. The list shows the open ones."
SUSPICION_NOTE_REQUIRED = "Say why it is not a secret."
SUSPICION_NOTE_TOO_LONG = "Shorten the note to {limit} characters."
SUSPICION_DISMISSED = "Dismissed. The text is shown again."
SUSPICIONS_DISMISSED = "Dismissed in {count:,} places. The text is shown again."
SUSPICION_REASON = "leaked {kind}"
EVENTS_REDACTED = "Redacted {count:,} events. The ledger says who, when and why."
EVENT_KEEPS_STRINGS = "Event {positions} keeps a string in a name, an id or a time."
EVENTS_KEEP_STRINGS = "Events {positions} keep a string in a name, an id or a time."
COPIES_KEEP_STRINGS = "The text also stays in {places}."

# Decisions
#: ``value`` is filled by Django.
DECISION_KIND_UNKNOWN = "Unknown kind “%(value)s”. Choose one from the list."
DECIDER_KIND_UNKNOWN = "Unknown type of decider “%(value)s”. Choose one from the list."
DECISION_VIEW_UNKNOWN = "Unknown view “%(value)s”. Choose the table or the timeline."

# Saved views
VIEW_NAME_REQUIRED = "Enter a name for this view."
VIEW_NOT_SAVABLE = "Choose filters or an order to save, or shorten them."
VIEW_LIMIT_REACHED = "You have {max_count} saved views. Delete one to save another."
VIEW_SAVED = "Saved as “{name}”."
VIEW_DELETED = "Deleted the saved view."
VIEW_ALREADY_DELETED = "This view was already deleted."

# Downloads
DOWNLOAD_CHANGED = "The content changed during the download. Download it again from the start.\n"

# Annotations
NO_OPEN_COMMENTS = "There are no unresolved comments here."
BOOKMARK_SET = "Bookmarked."
BOOKMARK_REMOVED = "Bookmark removed."
FIRST_CONVERSATION = "This is the first conversation of the list."
LAST_CONVERSATION = "This is the last conversation of the list."
