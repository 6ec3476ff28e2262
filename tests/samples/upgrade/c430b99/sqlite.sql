BEGIN TRANSACTION;
CREATE TABLE "auth_group" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "name" varchar(150) NOT NULL UNIQUE);
CREATE TABLE "auth_group_permissions" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "group_id" integer NOT NULL REFERENCES "auth_group" ("id") DEFERRABLE INITIALLY DEFERRED, "permission_id" integer NOT NULL REFERENCES "auth_permission" ("id") DEFERRABLE INITIALLY DEFERRED);
CREATE TABLE "auth_permission" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "content_type_id" integer NOT NULL REFERENCES "django_content_type" ("id") DEFERRABLE INITIALLY DEFERRED, "codename" varchar(100) NOT NULL, "name" varchar(255) NOT NULL);
INSERT INTO "auth_permission" VALUES(1,1,'add_permission','Can add permission');
INSERT INTO "auth_permission" VALUES(2,1,'change_permission','Can change permission');
INSERT INTO "auth_permission" VALUES(3,1,'delete_permission','Can delete permission');
INSERT INTO "auth_permission" VALUES(4,1,'view_permission','Can view permission');
INSERT INTO "auth_permission" VALUES(5,2,'add_group','Can add group');
INSERT INTO "auth_permission" VALUES(6,2,'change_group','Can change group');
INSERT INTO "auth_permission" VALUES(7,2,'delete_group','Can delete group');
INSERT INTO "auth_permission" VALUES(8,2,'view_group','Can view group');
INSERT INTO "auth_permission" VALUES(9,3,'add_contenttype','Can add content type');
INSERT INTO "auth_permission" VALUES(10,3,'change_contenttype','Can change content type');
INSERT INTO "auth_permission" VALUES(11,3,'delete_contenttype','Can delete content type');
INSERT INTO "auth_permission" VALUES(12,3,'view_contenttype','Can view content type');
INSERT INTO "auth_permission" VALUES(13,4,'add_session','Can add session');
INSERT INTO "auth_permission" VALUES(14,4,'change_session','Can change session');
INSERT INTO "auth_permission" VALUES(15,4,'delete_session','Can delete session');
INSERT INTO "auth_permission" VALUES(16,4,'view_session','Can view session');
INSERT INTO "auth_permission" VALUES(17,5,'add_workspace','Can add workspace');
INSERT INTO "auth_permission" VALUES(18,5,'change_workspace','Can change workspace');
INSERT INTO "auth_permission" VALUES(19,5,'delete_workspace','Can delete workspace');
INSERT INTO "auth_permission" VALUES(20,5,'view_workspace','Can view workspace');
INSERT INTO "auth_permission" VALUES(21,6,'add_person','Can add user');
INSERT INTO "auth_permission" VALUES(22,6,'change_person','Can change user');
INSERT INTO "auth_permission" VALUES(23,6,'delete_person','Can delete user');
INSERT INTO "auth_permission" VALUES(24,6,'view_person','Can view user');
INSERT INTO "auth_permission" VALUES(25,7,'add_conversation','Can add conversation');
INSERT INTO "auth_permission" VALUES(26,7,'change_conversation','Can change conversation');
INSERT INTO "auth_permission" VALUES(27,7,'delete_conversation','Can delete conversation');
INSERT INTO "auth_permission" VALUES(28,7,'view_conversation','Can view conversation');
INSERT INTO "auth_permission" VALUES(29,8,'add_run','Can add run');
INSERT INTO "auth_permission" VALUES(30,8,'change_run','Can change run');
INSERT INTO "auth_permission" VALUES(31,8,'delete_run','Can delete run');
INSERT INTO "auth_permission" VALUES(32,8,'view_run','Can view run');
INSERT INTO "auth_permission" VALUES(33,9,'add_inquiry','Can add inquiry');
INSERT INTO "auth_permission" VALUES(34,9,'change_inquiry','Can change inquiry');
INSERT INTO "auth_permission" VALUES(35,9,'delete_inquiry','Can delete inquiry');
INSERT INTO "auth_permission" VALUES(36,9,'view_inquiry','Can view inquiry');
INSERT INTO "auth_permission" VALUES(37,10,'add_signinlink','Can add sign in link');
INSERT INTO "auth_permission" VALUES(38,10,'change_signinlink','Can change sign in link');
INSERT INTO "auth_permission" VALUES(39,10,'delete_signinlink','Can delete sign in link');
INSERT INTO "auth_permission" VALUES(40,10,'view_signinlink','Can view sign in link');
INSERT INTO "auth_permission" VALUES(41,11,'add_membership','Can add membership');
INSERT INTO "auth_permission" VALUES(42,11,'change_membership','Can change membership');
INSERT INTO "auth_permission" VALUES(43,11,'delete_membership','Can delete membership');
INSERT INTO "auth_permission" VALUES(44,11,'view_membership','Can view membership');
INSERT INTO "auth_permission" VALUES(45,12,'add_journalentry','Can add journal entry');
INSERT INTO "auth_permission" VALUES(46,12,'change_journalentry','Can change journal entry');
INSERT INTO "auth_permission" VALUES(47,12,'delete_journalentry','Can delete journal entry');
INSERT INTO "auth_permission" VALUES(48,12,'view_journalentry','Can view journal entry');
INSERT INTO "auth_permission" VALUES(49,13,'add_prompt','Can add prompt');
INSERT INTO "auth_permission" VALUES(50,13,'change_prompt','Can change prompt');
INSERT INTO "auth_permission" VALUES(51,13,'delete_prompt','Can delete prompt');
INSERT INTO "auth_permission" VALUES(52,13,'view_prompt','Can view prompt');
INSERT INTO "auth_permission" VALUES(53,14,'add_trust','Can add trust');
INSERT INTO "auth_permission" VALUES(54,14,'change_trust','Can change trust');
INSERT INTO "auth_permission" VALUES(55,14,'delete_trust','Can delete trust');
INSERT INTO "auth_permission" VALUES(56,14,'view_trust','Can view trust');
INSERT INTO "auth_permission" VALUES(57,15,'add_address','Can add address');
INSERT INTO "auth_permission" VALUES(58,15,'change_address','Can change address');
INSERT INTO "auth_permission" VALUES(59,15,'delete_address','Can delete address');
INSERT INTO "auth_permission" VALUES(60,15,'view_address','Can view address');
INSERT INTO "auth_permission" VALUES(61,16,'add_answerlink','Can add answer link');
INSERT INTO "auth_permission" VALUES(62,16,'change_answerlink','Can change answer link');
INSERT INTO "auth_permission" VALUES(63,16,'delete_answerlink','Can delete answer link');
INSERT INTO "auth_permission" VALUES(64,16,'view_answerlink','Can view answer link');
INSERT INTO "auth_permission" VALUES(65,17,'add_duty','Can add duty');
INSERT INTO "auth_permission" VALUES(66,17,'change_duty','Can change duty');
INSERT INTO "auth_permission" VALUES(67,17,'delete_duty','Can delete duty');
INSERT INTO "auth_permission" VALUES(68,17,'view_duty','Can view duty');
INSERT INTO "auth_permission" VALUES(69,18,'add_interruption','Can add interruption');
INSERT INTO "auth_permission" VALUES(70,18,'change_interruption','Can change interruption');
INSERT INTO "auth_permission" VALUES(71,18,'delete_interruption','Can delete interruption');
INSERT INTO "auth_permission" VALUES(72,18,'view_interruption','Can view interruption');
INSERT INTO "auth_permission" VALUES(73,19,'add_keptresult','Can add kept result');
INSERT INTO "auth_permission" VALUES(74,19,'change_keptresult','Can change kept result');
INSERT INTO "auth_permission" VALUES(75,19,'delete_keptresult','Can delete kept result');
INSERT INTO "auth_permission" VALUES(76,19,'view_keptresult','Can view kept result');
INSERT INTO "auth_permission" VALUES(77,20,'add_notice','Can add notice');
INSERT INTO "auth_permission" VALUES(78,20,'change_notice','Can change notice');
INSERT INTO "auth_permission" VALUES(79,20,'delete_notice','Can delete notice');
INSERT INTO "auth_permission" VALUES(80,20,'view_notice','Can view notice');
INSERT INTO "auth_permission" VALUES(81,21,'add_presence','Can add presence');
INSERT INTO "auth_permission" VALUES(82,21,'change_presence','Can change presence');
INSERT INTO "auth_permission" VALUES(83,21,'delete_presence','Can delete presence');
INSERT INTO "auth_permission" VALUES(84,21,'view_presence','Can view presence');
INSERT INTO "auth_permission" VALUES(85,22,'add_showing','Can add showing');
INSERT INTO "auth_permission" VALUES(86,22,'change_showing','Can change showing');
INSERT INTO "auth_permission" VALUES(87,22,'delete_showing','Can delete showing');
INSERT INTO "auth_permission" VALUES(88,22,'view_showing','Can view showing');
INSERT INTO "auth_permission" VALUES(89,23,'add_reading','Can add reading');
INSERT INTO "auth_permission" VALUES(90,23,'change_reading','Can change reading');
INSERT INTO "auth_permission" VALUES(91,23,'delete_reading','Can delete reading');
INSERT INTO "auth_permission" VALUES(92,23,'view_reading','Can view reading');
INSERT INTO "auth_permission" VALUES(93,24,'add_turn','Can add turn');
INSERT INTO "auth_permission" VALUES(94,24,'change_turn','Can change turn');
INSERT INTO "auth_permission" VALUES(95,24,'delete_turn','Can delete turn');
INSERT INTO "auth_permission" VALUES(96,24,'view_turn','Can view turn');
INSERT INTO "auth_permission" VALUES(97,25,'add_passage','Can add passage');
INSERT INTO "auth_permission" VALUES(98,25,'change_passage','Can change passage');
INSERT INTO "auth_permission" VALUES(99,25,'delete_passage','Can delete passage');
INSERT INTO "auth_permission" VALUES(100,25,'view_passage','Can view passage');
INSERT INTO "auth_permission" VALUES(101,26,'add_savedsearch','Can add saved search');
INSERT INTO "auth_permission" VALUES(102,26,'change_savedsearch','Can change saved search');
INSERT INTO "auth_permission" VALUES(103,26,'delete_savedsearch','Can delete saved search');
INSERT INTO "auth_permission" VALUES(104,26,'view_savedsearch','Can view saved search');
CREATE TABLE "django_content_type" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "app_label" varchar(100) NOT NULL, "model" varchar(100) NOT NULL);
INSERT INTO "django_content_type" VALUES(1,'auth','permission');
INSERT INTO "django_content_type" VALUES(2,'auth','group');
INSERT INTO "django_content_type" VALUES(3,'contenttypes','contenttype');
INSERT INTO "django_content_type" VALUES(4,'sessions','session');
INSERT INTO "django_content_type" VALUES(5,'store','workspace');
INSERT INTO "django_content_type" VALUES(6,'store','person');
INSERT INTO "django_content_type" VALUES(7,'store','conversation');
INSERT INTO "django_content_type" VALUES(8,'store','run');
INSERT INTO "django_content_type" VALUES(9,'store','inquiry');
INSERT INTO "django_content_type" VALUES(10,'store','signinlink');
INSERT INTO "django_content_type" VALUES(11,'store','membership');
INSERT INTO "django_content_type" VALUES(12,'store','journalentry');
INSERT INTO "django_content_type" VALUES(13,'store','prompt');
INSERT INTO "django_content_type" VALUES(14,'store','trust');
INSERT INTO "django_content_type" VALUES(15,'store','address');
INSERT INTO "django_content_type" VALUES(16,'store','answerlink');
INSERT INTO "django_content_type" VALUES(17,'store','duty');
INSERT INTO "django_content_type" VALUES(18,'store','interruption');
INSERT INTO "django_content_type" VALUES(19,'store','keptresult');
INSERT INTO "django_content_type" VALUES(20,'store','notice');
INSERT INTO "django_content_type" VALUES(21,'store','presence');
INSERT INTO "django_content_type" VALUES(22,'store','showing');
INSERT INTO "django_content_type" VALUES(23,'store','reading');
INSERT INTO "django_content_type" VALUES(24,'store','turn');
INSERT INTO "django_content_type" VALUES(25,'store','passage');
INSERT INTO "django_content_type" VALUES(26,'store','savedsearch');
CREATE TABLE "django_migrations" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "app" varchar(255) NOT NULL, "name" varchar(255) NOT NULL, "applied" datetime NOT NULL);
INSERT INTO "django_migrations" VALUES(1,'contenttypes','0001_initial','2026-11-22 11:19:17.700579');
INSERT INTO "django_migrations" VALUES(2,'contenttypes','0002_remove_content_type_name','2026-11-22 11:19:17.713175');
INSERT INTO "django_migrations" VALUES(3,'auth','0001_initial','2026-11-22 11:19:17.769253');
INSERT INTO "django_migrations" VALUES(4,'auth','0002_alter_permission_name_max_length','2026-11-22 11:19:17.785044');
INSERT INTO "django_migrations" VALUES(5,'auth','0003_alter_user_email_max_length','2026-11-22 11:19:17.805275');
INSERT INTO "django_migrations" VALUES(6,'auth','0004_alter_user_username_opts','2026-11-22 11:19:17.812280');
INSERT INTO "django_migrations" VALUES(7,'auth','0005_alter_user_last_login_null','2026-11-22 11:19:17.814732');
INSERT INTO "django_migrations" VALUES(8,'auth','0006_require_contenttypes_0002','2026-11-22 11:19:17.827533');
INSERT INTO "django_migrations" VALUES(9,'auth','0007_alter_validators_add_error_messages','2026-11-22 11:19:17.830410');
INSERT INTO "django_migrations" VALUES(10,'auth','0008_alter_user_username_max_length','2026-11-22 11:19:17.853776');
INSERT INTO "django_migrations" VALUES(11,'auth','0009_alter_user_last_name_max_length','2026-11-22 11:19:17.865976');
INSERT INTO "django_migrations" VALUES(12,'auth','0010_alter_group_name_max_length','2026-11-22 11:19:17.891676');
INSERT INTO "django_migrations" VALUES(13,'auth','0011_update_proxy_permissions','2026-11-22 11:19:17.899394');
INSERT INTO "django_migrations" VALUES(14,'auth','0012_alter_user_first_name_max_length','2026-11-22 11:19:17.902225');
INSERT INTO "django_migrations" VALUES(15,'sessions','0001_initial','2026-11-22 11:19:17.920093');
INSERT INTO "django_migrations" VALUES(16,'store','0001_initial','2026-11-22 11:19:18.382903');
INSERT INTO "django_migrations" VALUES(17,'store','0002_trust_and_prompts','2026-11-22 11:19:18.719134');
INSERT INTO "django_migrations" VALUES(18,'store','0003_durable_runs','2026-11-22 11:19:21.709815');
INSERT INTO "django_migrations" VALUES(19,'store','0004_windows','2026-11-22 11:19:22.536631');
INSERT INTO "django_migrations" VALUES(20,'store','0005_finding','2026-11-22 11:19:22.757074');
INSERT INTO "django_migrations" VALUES(21,'store','0006_lists','2026-11-22 11:19:23.548713');
CREATE TABLE "django_session" ("session_key" varchar(40) NOT NULL PRIMARY KEY, "session_data" text NOT NULL, "expire_date" datetime NOT NULL);
CREATE TABLE "store_address" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "url" text NOT NULL, "delay" integer unsigned NOT NULL CHECK ("delay" >= 0), "problem" varchar(500) NOT NULL, "added_at" datetime NOT NULL, "person_id" bigint NOT NULL REFERENCES "store_person" ("id") DEFERRABLE INITIALLY DEFERRED, "workspace_id" bigint NOT NULL REFERENCES "store_workspace" ("id") DEFERRABLE INITIALLY DEFERRED);
CREATE TABLE "store_answerlink" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "token_hash" varchar(64) NOT NULL UNIQUE, "created_at" datetime NOT NULL, "expires_at" datetime NOT NULL, "used_at" datetime NULL, "inquiry_id" bigint NOT NULL REFERENCES "store_inquiry" ("id") DEFERRABLE INITIALLY DEFERRED, "person_id" bigint NOT NULL REFERENCES "store_person" ("id") DEFERRABLE INITIALLY DEFERRED);
CREATE TABLE "store_conversation" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "jp_id" bigint NOT NULL, "origin" varchar(10) NOT NULL, "title" varchar(500) NOT NULL, "last_activity" datetime NOT NULL, "pinned_at" datetime NULL, "archived" bool NOT NULL, "expires_at" datetime NULL, "gone_at" datetime NULL, "labels" text NOT NULL CHECK ((JSON_VALID("labels") OR "labels" IS NULL)), "length" integer unsigned NOT NULL CHECK ("length" >= 0), "revision" integer unsigned NOT NULL CHECK ("revision" >= 0), "turns" integer unsigned NOT NULL CHECK ("turns" >= 0), "problem" varchar(500) NOT NULL, "framing" text NOT NULL, "source" varchar(500) NOT NULL, "fingerprint" varchar(200) NOT NULL, "started_by_id" bigint NULL REFERENCES "store_person" ("id") DEFERRABLE INITIALLY DEFERRED, "workspace_id" bigint NOT NULL REFERENCES "store_workspace" ("id") DEFERRABLE INITIALLY DEFERRED, "accounts" text NOT NULL CHECK ((JSON_VALID("accounts") OR "accounts" IS NULL)), "indexed_length" integer unsigned NOT NULL CHECK ("indexed_length" >= 0), "indexed_revision" integer unsigned NOT NULL CHECK ("indexed_revision" >= 0), "placed" smallint unsigned NOT NULL CHECK ("placed" >= 0), "unindexed" bool NOT NULL, CONSTRAINT "one_conversation_an_id" UNIQUE ("workspace_id", "jp_id"));
INSERT INTO "store_conversation" VALUES(6,17911890124,'mirrored','A tour of questions and answers','2026-10-05 08:36:41.338491','2026-10-05 08:37:11.338491',0,NULL,NULL,'{"project": "orchard", "tour": ""}',48,0,5,'','','17911890124-a-tour-of-questions-and-answers','207.1795306484000000000.9978559/15609.1795306484000000000.9978553',NULL,2,'{"turn": 5, "person": 5, "message": 5, "reasoning": 1, "call": 7, "question": 9, "outcome": 9, "result": 6, "failure": 1}',48,0,2,0);
INSERT INTO "store_conversation" VALUES(7,17712564307,'mirrored','Old and odd: written by other versions','2026-02-16 15:42:00.756091',NULL,1,NULL,NULL,'{"project": "orchard"}',18,0,2,'','','17712564307-old-and-odd--written-by-other-versions','200.1795306484000000000.9978626/4237.1795306484000000000.9978594',NULL,2,'{"person": 2, "reasoning": 1, "call": 2, "question": 3, "outcome": 2, "result": 1, "message": 2, "turn": 1, "unknown": 1, "broken": 1, "dropped": 1, "failure": 1}',18,0,2,0);
INSERT INTO "store_conversation" VALUES(8,17953463649,'native','All answered','2026-11-22 11:19:27.030243',NULL,0,NULL,NULL,'{}',21,0,1,'','','','',1,2,'{"turn": 1, "person": 1, "reasoning": 1, "message": 2, "call": 4, "question": 4, "outcome": 4, "result": 4}',21,0,2,0);
INSERT INTO "store_conversation" VALUES(9,17953463672,'native','All declined','2026-11-22 11:19:28.486136',NULL,0,NULL,NULL,'{}',20,0,1,'','','','',1,2,'{"turn": 1, "person": 1, "reasoning": 1, "message": 1, "call": 4, "question": 4, "outcome": 4, "result": 4}',20,0,2,0);
INSERT INTO "store_conversation" VALUES(10,17953463688,'native','Stopped','2026-11-22 11:19:29.224302',NULL,0,NULL,NULL,'{}',8,0,1,'','','','',1,2,'{"turn": 1, "person": 1, "reasoning": 1, "message": 1, "call": 1, "question": 1, "outcome": 1, "result": 1}',8,0,2,0);
INSERT INTO "store_conversation" VALUES(11,17953463694,'native','Waiting','2026-11-22 11:19:29.903233',NULL,0,NULL,NULL,'{}',10,0,1,'','','','',1,2,'{"turn": 1, "person": 1, "reasoning": 1, "message": 1, "call": 2, "question": 2, "outcome": 1, "result": 1}',10,0,2,0);
CREATE TABLE "store_duty" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "name" varchar(50) NOT NULL UNIQUE, "holder" varchar(150) NOT NULL, "lease_until" datetime NOT NULL);
CREATE TABLE "store_inquiry" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "anchor" varchar(60) NOT NULL, "position" integer unsigned NOT NULL CHECK ("position" >= 0), "response_position" integer unsigned NULL CHECK ("response_position" >= 0), "inquiry_id" text NOT NULL, "source" varchar(20) NOT NULL, "asker" varchar(200) NOT NULL, "label" varchar(200) NOT NULL, "question" text NOT NULL CHECK ((JSON_VALID("question") OR "question" IS NULL)), "answer_type" varchar(20) NOT NULL, "state" varchar(20) NOT NULL, "reason" varchar(200) NOT NULL, "answer" text NULL CHECK ((JSON_VALID("answer") OR "answer" IS NULL)), "decided_by" varchar(20) NOT NULL, "decider_name" varchar(200) NOT NULL, "asked_at" datetime NOT NULL, "settled_at" datetime NULL, "conversation_id" bigint NOT NULL REFERENCES "store_conversation" ("id") DEFERRABLE INITIALLY DEFERRED, "decider_id" bigint NULL REFERENCES "store_person" ("id") DEFERRABLE INITIALLY DEFERRED, "run_id" bigint NULL REFERENCES "store_run" ("id") DEFERRABLE INITIALLY DEFERRED, "alike" varchar(40) DEFAULT '' NOT NULL, "expires_at" datetime NULL, "note" varchar(2000) DEFAULT '' NOT NULL, "seal_key" varchar(100) DEFAULT '' NOT NULL, "waiter" varchar(150) DEFAULT '' NOT NULL, "workspace_id" bigint NULL REFERENCES "store_workspace" ("id") DEFERRABLE INITIALLY DEFERRED, CONSTRAINT "one_row_an_inquiry" UNIQUE ("conversation_id", "anchor"));
INSERT INTO "store_inquiry" VALUES(31,'e-726d9f22afc8557cb1',7,8,'toolu_01TourEdit.apply_changes.1','tool','fs_modify_file','','{"text":"Apply the following changes?\n\n```diff\n--- src/orchard/tree.py\n+++ src/orchard/tree.py\n@@ -7,4 +7,5 @@ class Tree:\n     species: str\n     planted: date\n+    nickname: str | None = None\n     height_cm: int\n```","answer_type":{"type":"boolean"},"default":true}','boolean','answered','','true','person','Ada','2026-10-05 08:31:35.949803','2026-10-05 08:31:47.448872',6,NULL,NULL,'',NULL,'','','',NULL);
INSERT INTO "store_inquiry" VALUES(32,'e-97b4edaa6d59a85dc3',14,15,'toolu_01TourHow.answer.1','assistant','ask_user','','{"text":"How shall existing trees be handled?","answer_type":{"type":"select","options":[{"value":"leave","description":"Leave the field empty; nothing is rewritten"},{"value":"species","description":"Fill in the name of the species"},{"value":"ask","description":"Ask the gardener of each plot by mail"}]},"default":"leave","context":"412 trees are stored already. None of them has a nickname.","exclusive":true,"persistence":"none"}','select','answered','','"leave"','person','Ada','2026-10-05 08:32:52.182058','2026-10-05 08:33:24.561262',6,NULL,NULL,'',NULL,'','','',NULL);
INSERT INTO "store_inquiry" VALUES(33,'e-ab26bcce118d8b284c',18,19,'toolu_01TourWho.answer.1','assistant','ask_user','','{"text":"Who should review the change?","answer_type":{"type":"text"},"exclusive":true,"persistence":"none"}','text','answered','','"Sam, and the people of plot 7"','person','Ada','2026-10-05 08:33:26.425316','2026-10-05 08:33:49.696822',6,NULL,NULL,'',NULL,'','','',NULL);
INSERT INTO "store_inquiry" VALUES(34,'e-4bd09848017e633b71',22,23,'toolu_01TourPush.passphrase.1','tool','git_push','','{"text":"Passphrase for the key “ada@orchard”?","answer_type":{"type":"secret"}}','secret','redacted','',NULL,'person','Ada','2026-10-05 08:33:51.806604','2026-10-05 08:34:04.199907',6,NULL,NULL,'',NULL,'','','',NULL);
INSERT INTO "store_inquiry" VALUES(35,'e-c592f44d35cd03c619',29,30,'toolu_01TourVersion.version.1','tool','release_notes','','{"text":"Which version are these notes for? (three numbers, such as 1.3.2)","answer_type":{"type":"text"}}','text','answered','','"next"','person','Ada','2026-10-05 08:34:58.389953','2026-10-05 08:35:07.057625',6,NULL,NULL,'',NULL,'','','',NULL);
INSERT INTO "store_inquiry" VALUES(36,'e-5c2c94e2c6c08708b9',31,32,'toolu_01TourVersion.version.2','tool','release_notes','','{"text":"Which version are these notes for? (three numbers, such as 1.3.2)","answer_type":{"type":"text"}}','text','answered','','"1.4"','person','Ada','2026-10-05 08:35:07.316918','2026-10-05 08:35:15.662116',6,NULL,NULL,'',NULL,'','','',NULL);
INSERT INTO "store_inquiry" VALUES(37,'e-a8f5a5d33546f3b9ed',33,34,'toolu_01TourVersion.version.3','tool','release_notes','','{"text":"Which version are these notes for? (three numbers, such as 1.3.2)","answer_type":{"type":"text"}}','text','answered','','"1.4.0"','person','Ada','2026-10-05 08:35:15.901236','2026-10-05 08:35:26.328208',6,NULL,NULL,'',NULL,'','','',NULL);
INSERT INTO "store_inquiry" VALUES(38,'e-3c0e9ecbcd801e8f39',40,41,'toolu_01TourClean.confirm.1','tool','fs_delete_file','','{"text":"Delete data/2019-survey.csv for good?","answer_type":{"type":"boolean"},"default":false}','boolean','cancelled','user',NULL,'person','Ada','2026-10-05 08:36:24.280737','2026-10-05 08:36:30.227216',6,NULL,NULL,'',NULL,'','','',NULL);
INSERT INTO "store_inquiry" VALUES(39,'e-c1070d50a954b6734a',44,45,'toolu_01TourKeep.confirm.1','tool','fs_delete_file','','{"text":"Delete data/empty.csv for good?","answer_type":{"type":"boolean"},"default":false}','boolean','answered','','false','person','Ada','2026-10-05 08:36:32.355807','2026-10-05 08:36:37.752742',6,NULL,NULL,'',NULL,'','','',NULL);
INSERT INTO "store_inquiry" VALUES(40,'e-a8fadfa242315bb95d',3,4,'toolu_01OldEdit.apply_changes','tool','fs_modify_file','','{"text":"Apply the following changes?\n\n```diff\n-    return sorted(plots)\n+    return sorted(plots, key=lambda p: p.trees)\n```","answer_type":{"type":"boolean"},"default":true}','boolean','answered','','false','','','2026-02-16 15:40:36.065243','2026-02-16 15:40:45.023151',7,NULL,NULL,'',NULL,'','','',NULL);
INSERT INTO "store_inquiry" VALUES(41,'e-2e38a0e5090b0c59b5',5,6,'toolu_01OldEdit.apply_changes','tool','fs_modify_file','','{"text":"Apply the following changes?\n\n```diff\n-    return sorted(plots)\n+    return sorted(plots, key=oldest_tree)\n```","answer_type":{"type":"boolean"},"default":true}','boolean','answered','','true','','','2026-02-16 15:40:45.268529','2026-02-16 15:40:53.519825',7,NULL,NULL,'',NULL,'','','',NULL);
INSERT INTO "store_inquiry" VALUES(42,'e-a089e10367cd5370d9',14,15,'toolu_01OldTool.bees.1','tool','pollination_check','','{"text":"Are the bees about?","answer_type":{"type":"boolean"}}','boolean','cancelled','asker_fell_asleep',NULL,'','','2026-02-16 15:41:55.684379','2026-02-16 15:41:56.543092',7,NULL,NULL,'',NULL,'','','',NULL);
INSERT INTO "store_inquiry" VALUES(43,'e-2659ec73d36996fe3f',5,6,'call_1_92a16e71.answer.1','assistant','ask_user','Assistant','{"text": "Shall I show you how questions work?", "answer_type": {"type": "boolean"}, "exclusive": true, "persistence": "none"}','boolean','answered','','true','person','Owner','2026-11-22 11:19:25.008271','2026-11-22 11:19:25.421196',8,1,1,'60021f602027d5112edd74e6b46bf703df5c3066',NULL,'','','',2);
INSERT INTO "store_inquiry" VALUES(44,'e-bc861e172f6c37dcc7',9,10,'call_2_90493937.answer.1','assistant','ask_user','Assistant','{"text": "How should the pretend changes be applied?", "answer_type": {"type": "select", "options": [{"value": "with a backup"}, {"value": "without a backup"}, {"value": "not at all"}]}, "context": "The script pretends to change three files.\nA backup would let you go back; nothing is changed in any case.", "exclusive": true, "persistence": "none"}','select','answered','','"without a backup"','person','Owner','2026-11-22 11:19:25.435481','2026-11-22 11:19:25.815320',8,1,1,'66253786e84f703b7c20bc9ced0aa22fee430b58',NULL,'','','',2);
INSERT INTO "store_inquiry" VALUES(45,'e-3a678c9836cbcee42d',13,14,'call_3_4641755e.answer.1','assistant','ask_user','Assistant','{"text": "What should the pretend report be called?", "answer_type": {"type": "text"}, "default": "report.md", "exclusive": true, "persistence": "none"}','text','answered','','"a.md"','person','Owner','2026-11-22 11:19:25.835433','2026-11-22 11:19:26.401838',8,1,1,'b9c754ef45c44c1a5a0f1bb0801e79a714f169c2',NULL,'','','',2);
INSERT INTO "store_inquiry" VALUES(46,'e-fb26be4b4161c1fd16',17,18,'call_4_113c4394.passphrase.1','tool','demo_vault','','{"text": "What is the passphrase of the vault?", "answer_type": {"type": "secret"}, "context": "This is a demonstration. Any passphrase opens it: do not type a real one."}','secret','redacted','',NULL,'person','Owner','2026-11-22 11:19:26.413369','2026-11-22 11:19:27.016514',8,1,1,'',NULL,'','','',2);
INSERT INTO "store_inquiry" VALUES(47,'e-8cd346310290ea94e2',5,6,'call_1_1985259c.answer.1','assistant','ask_user','Assistant','{"text": "Shall I show you how questions work?", "answer_type": {"type": "boolean"}, "exclusive": true, "persistence": "none"}','boolean','cancelled','user',NULL,'person','Owner','2026-11-22 11:19:27.267627','2026-11-22 11:19:27.422139',9,1,2,'60021f602027d5112edd74e6b46bf703df5c3066',NULL,'','','',2);
INSERT INTO "store_inquiry" VALUES(48,'e-4d59d7eed729864150',9,10,'call_2_1b40093b.answer.1','assistant','ask_user','Assistant','{"text": "How should the pretend changes be applied?", "answer_type": {"type": "select", "options": [{"value": "with a backup"}, {"value": "without a backup"}, {"value": "not at all"}]}, "context": "The script pretends to change three files.\nA backup would let you go back; nothing is changed in any case.", "exclusive": true, "persistence": "none"}','select','cancelled','user',NULL,'person','Owner','2026-11-22 11:19:27.447205','2026-11-22 11:19:27.724056',9,1,2,'66253786e84f703b7c20bc9ced0aa22fee430b58',NULL,'','','',2);
INSERT INTO "store_inquiry" VALUES(49,'e-d24971da2a81b48d25',13,14,'call_3_4694c1c5.answer.1','assistant','ask_user','Assistant','{"text": "What should the pretend report be called?", "answer_type": {"type": "text"}, "default": "report.md", "exclusive": true, "persistence": "none"}','text','cancelled','user',NULL,'person','Owner','2026-11-22 11:19:27.759101','2026-11-22 11:19:28.064172',9,1,2,'b9c754ef45c44c1a5a0f1bb0801e79a714f169c2',NULL,'Not today','','',2);
INSERT INTO "store_inquiry" VALUES(50,'e-e9fa9e977abcd0c7c5',17,18,'call_4_b9045fad.passphrase.1','tool','demo_vault','','{"text": "What is the passphrase of the vault?", "answer_type": {"type": "secret"}, "context": "This is a demonstration. Any passphrase opens it: do not type a real one."}','secret','cancelled','user',NULL,'person','Owner','2026-11-22 11:19:28.088735','2026-11-22 11:19:28.480270',9,1,2,'',NULL,'','','',2);
INSERT INTO "store_inquiry" VALUES(51,'e-cb2926531ac895528b',5,6,'call_1_5d312243.answer.1','assistant','ask_user','Assistant','{"text": "Shall I show you how questions work?", "answer_type": {"type": "boolean"}, "exclusive": true, "persistence": "none"}','boolean','cancelled','user',NULL,'person','Owner','2026-11-22 11:19:28.969717','2026-11-22 11:19:29.222565',10,1,3,'60021f602027d5112edd74e6b46bf703df5c3066',NULL,'','','',2);
INSERT INTO "store_inquiry" VALUES(52,'e-049de4bd066c473ae4',5,6,'call_1_ede3e22a.answer.1','assistant','ask_user','Assistant','{"text": "Shall I show you how questions work?", "answer_type": {"type": "boolean"}, "exclusive": true, "persistence": "none"}','boolean','answered','','false','person','Owner','2026-11-22 11:19:29.488527','2026-11-22 11:19:29.843594',11,1,4,'60021f602027d5112edd74e6b46bf703df5c3066',NULL,'','','',2);
INSERT INTO "store_inquiry" VALUES(53,'e-b576530693595a5bc6',9,NULL,'call_2_2ef94b00.answer.1','assistant','ask_user','Assistant','{"text": "How should the pretend changes be applied?", "answer_type": {"type": "select", "options": [{"value": "with a backup"}, {"value": "without a backup"}, {"value": "not at all"}]}, "context": "The script pretends to change three files.\nA backup would let you go back; nothing is changed in any case.", "exclusive": true, "persistence": "none"}','select','open','',NULL,'','','2026-11-22 11:19:29.903233',NULL,11,NULL,4,'66253786e84f703b7c20bc9ced0aa22fee430b58',NULL,'','','',2);
CREATE TABLE "store_interruption" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "kind" varchar(10) NOT NULL, "text" text NOT NULL, "person_name" varchar(200) NOT NULL, "said_at" datetime NOT NULL, "taken_at" datetime NULL, "person_id" bigint NULL REFERENCES "store_person" ("id") DEFERRABLE INITIALLY DEFERRED, "run_id" bigint NOT NULL REFERENCES "store_run" ("id") DEFERRABLE INITIALLY DEFERRED);
INSERT INTO "store_interruption" VALUES(1,'stop','','Owner','2026-11-22 11:19:29.219528',NULL,1,3);
CREATE TABLE "store_journalentry" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "position" integer unsigned NOT NULL CHECK ("position" >= 0), "text" text NOT NULL, "kind" varchar(100) NOT NULL, "anchor" varchar(60) NOT NULL, "conversation_id" bigint NOT NULL REFERENCES "store_conversation" ("id") DEFERRABLE INITIALLY DEFERRED, "facet" varchar(20) NOT NULL, "head" integer unsigned NOT NULL CHECK ("head" >= 0), CONSTRAINT "one_entry_a_position" UNIQUE ("conversation_id", "position"));
INSERT INTO "store_journalentry" VALUES(166,0,'{
    "timestamp": "2026-10-05 08:30:12.500646",
    "type": "turn_start"
  }','turn_start','e-c46d16a2f69e81df51',6,'turn',0);
INSERT INTO "store_journalentry" VALUES(167,1,'{
    "timestamp": "2026-10-05 08:30:12.501753",
    "type": "chat_request",
    "content": "I am new here. What am I looking at?",
    "author": "Ada"
  }','chat_request','e-389fd36afa34c6603c',6,'person',1);
INSERT INTO "store_journalentry" VALUES(168,2,'{
    "timestamp": "2026-10-05 08:30:16.210016",
    "type": "chat_response",
    "message": "You are looking at **one conversation** between a person and an assistant. It is made of turns: you say something, the assistant works, the assistant replies.\n\nWhile it works it calls tools. A tool call unfolds into what went in, what came out, and every **question** that was asked on the way. Each question ends in exactly one of these ways:\n\n| Outcome | What happened | Is the answer on record? |\n| --- | --- | --- |\n| answered | a person, a rule or the assistant answered | yes |\n| redacted | a secret was delivered to whoever asked | never |\n| cancelled | it was closed without an answer, for a stated reason | there is none |\n\nThree things worth trying:\n\n1. Open a tool call below and read the question inside it.\n2. Copy the link of a single event; it keeps working when the conversation grows.\n3. Look for the person beside an answer. *Who said yes* is never a mystery here.\n\nThe rest of this tour is a small project, an orchard planner, being looked after."
  }','chat_response','e-d26c27e134203f77ea',6,'message',2);
INSERT INTO "store_journalentry" VALUES(169,3,'{
    "timestamp": "2026-10-05 08:31:32.487922",
    "type": "turn_start"
  }','turn_start','e-1295859808fe562e77',6,'turn',3);
INSERT INTO "store_journalentry" VALUES(170,4,'{
    "timestamp": "2026-10-05 08:31:32.489052",
    "type": "chat_request",
    "content": "Let a tree have a nickname. Change the model first, please.",
    "author": "Ada"
  }','chat_request','e-cd86fa1087fbbe4967',6,'person',4);
INSERT INTO "store_journalentry" VALUES(171,5,'{
    "timestamp": "2026-10-05 08:31:34.737999",
    "type": "chat_response",
    "reasoning": "One file holds the model. I propose the edit and let the tool ask before it writes."
  }','chat_response','e-2bd3d987f323c8cea2',6,'reasoning',5);
INSERT INTO "store_journalentry" VALUES(172,6,'{
    "timestamp": "2026-10-05 08:31:35.684736",
    "type": "tool_call_request",
    "id": "toolu_01TourEdit",
    "name": "fs_modify_file",
    "arguments": {
      "path": "c3JjL29yY2hhcmQvdHJlZS5weQ==",
      "patterns": [
        {
          "old": "ICAgIHBsYW50ZWQ6IGRhdGUK",
          "new": "ICAgIHBsYW50ZWQ6IGRhdGUKICAgIG5pY2tuYW1lOiBzdHIgfCBOb25lID0gTm9uZQo="
        }
      ]
    },
    "metadata": {
      "rendered_arguments": "RzFzeGJYTnlZeTl2Y21Ob1lYSmtMM1J5WldVdWNIa2JXekJ0Q2h0Yk16RnRMU0FnSUNCd2JHRnVkR1ZrT2lCa1lYUmxHMXN3YlFvYld6TXliU3NnSUNBZ2NHeGhiblJsWkRvZ1pHRjBaUW9ySUNBZ0lHNXBZMnR1WVcxbE9pQnpkSElnZkNCT2IyNWxJRDBnVG05dVpSdGJNRzA9"
    }
  }','tool_call_request','e-cace5c1fc928d9b056',6,'call',6);
INSERT INTO "store_journalentry" VALUES(173,7,'{
    "timestamp": "2026-10-05 08:31:35.949803",
    "type": "inquiry_request",
    "id": "toolu_01TourEdit.apply_changes.1",
    "source": {
      "source": "tool",
      "name": "fs_modify_file"
    },
    "question": {
      "text": "Apply the following changes?\n\n```diff\n--- src/orchard/tree.py\n+++ src/orchard/tree.py\n@@ -7,4 +7,5 @@ class Tree:\n     species: str\n     planted: date\n+    nickname: str | None = None\n     height_cm: int\n```",
      "answer_type": {
        "type": "boolean"
      },
      "default": true
    }
  }','inquiry_request','e-726d9f22afc8557cb1',6,'question',6);
INSERT INTO "store_journalentry" VALUES(174,8,'{
    "timestamp": "2026-10-05 08:31:47.448872",
    "type": "inquiry_response",
    "outcome": "answered",
    "id": "toolu_01TourEdit.apply_changes.1",
    "answer": true,
    "metadata": {
      "jpweb": {
        "by": {
          "kind": "cGVyc29u",
          "name": "QWRh"
        }
      }
    }
  }','inquiry_response','e-0f15288c93caf2dbfc',6,'outcome',6);
INSERT INTO "store_journalentry" VALUES(175,9,'{
    "timestamp": "2026-10-05 08:31:48.095209",
    "type": "tool_call_response",
    "id": "toolu_01TourEdit",
    "content": "TW9kaWZpZWQgc3JjL29yY2hhcmQvdHJlZS5weTogMSBsaW5lIGFkZGVkLg==",
    "is_error": false
  }','tool_call_response','e-b621a9360bf7be74a6',6,'result',6);
INSERT INTO "store_journalentry" VALUES(176,10,'{
    "timestamp": "2026-10-05 08:31:53.123743",
    "type": "chat_response",
    "message": "A tree may now have a nickname:\n\n```python\nTree(\"Malus domestica\", planted=date(2021, 3, 4), nickname=\"Old Bess\", height_cm=310)\n```\n\nThis is the most common question of all: *may I write this file?* The tool asked it, so its source is the tool. Ada said yes."
  }','chat_response','e-5e108329ba6314782c',6,'message',10);
INSERT INTO "store_journalentry" VALUES(177,11,'{
    "timestamp": "2026-10-05 08:32:51.174233",
    "type": "turn_start"
  }','turn_start','e-38e4fff81bb4efffa5',6,'turn',11);
INSERT INTO "store_journalentry" VALUES(178,12,'{
    "timestamp": "2026-10-05 08:32:51.174991",
    "type": "chat_request",
    "content": "Now decide with me how old data gets the new field. Ask me whatever you need.",
    "author": "Ada"
  }','chat_request','e-44cc7d95a9363dc76f',6,'person',12);
INSERT INTO "store_journalentry" VALUES(179,13,'{
    "timestamp": "2026-10-05 08:32:51.88768",
    "type": "tool_call_request",
    "id": "toolu_01TourHow",
    "name": "ask_user",
    "arguments": {
      "question": "SG93IHNoYWxsIGV4aXN0aW5nIHRyZWVzIGJlIGhhbmRsZWQ/",
      "answer_type": "c2VsZWN0",
      "options": [
        "bGVhdmU=",
        "c3BlY2llcw==",
        "YXNr"
      ],
      "default": "bGVhdmU=",
      "context": "NDEyIHRyZWVzIGFyZSBzdG9yZWQgYWxyZWFkeS4gTm9uZSBvZiB0aGVtIGhhcyBhIG5pY2tuYW1lLg=="
    }
  }','tool_call_request','e-3c48f2088d3eaf9c4f',6,'call',13);
INSERT INTO "store_journalentry" VALUES(180,14,'{
    "timestamp": "2026-10-05 08:32:52.182058",
    "type": "inquiry_request",
    "id": "toolu_01TourHow.answer.1",
    "source": {
      "source": "assistant"
    },
    "question": {
      "text": "How shall existing trees be handled?",
      "answer_type": {
        "type": "select",
        "options": [
          {
            "value": "leave",
            "description": "Leave the field empty; nothing is rewritten"
          },
          {
            "value": "species",
            "description": "Fill in the name of the species"
          },
          {
            "value": "ask",
            "description": "Ask the gardener of each plot by mail"
          }
        ]
      },
      "default": "leave",
      "context": "412 trees are stored already. None of them has a nickname.",
      "exclusive": true,
      "persistence": "none"
    },
    "metadata": {
      "jpweb": {
        "tool_call_id": "dG9vbHVfMDFUb3VySG93"
      }
    }
  }','inquiry_request','e-97b4edaa6d59a85dc3',6,'question',13);
INSERT INTO "store_journalentry" VALUES(181,15,'{
    "timestamp": "2026-10-05 08:33:24.561262",
    "type": "inquiry_response",
    "outcome": "answered",
    "id": "toolu_01TourHow.answer.1",
    "answer": "leave",
    "metadata": {
      "jpweb": {
        "by": {
          "kind": "cGVyc29u",
          "name": "QWRh"
        }
      }
    }
  }','inquiry_response','e-e1e892e6db0807a25d',6,'outcome',13);
INSERT INTO "store_journalentry" VALUES(182,16,'{
    "timestamp": "2026-10-05 08:33:25.180281",
    "type": "tool_call_response",
    "id": "toolu_01TourHow",
    "content": "eyJhbnN3ZXJfdHlwZSI6InNlbGVjdCIsImFuc3dlciI6ImxlYXZlIn0=",
    "is_error": false
  }','tool_call_response','e-bc11a13a3b71b5af59',6,'result',13);
INSERT INTO "store_journalentry" VALUES(183,17,'{
    "timestamp": "2026-10-05 08:33:26.071055",
    "type": "tool_call_request",
    "id": "toolu_01TourWho",
    "name": "ask_user",
    "arguments": {
      "question": "V2hvIHNob3VsZCByZXZpZXcgdGhlIGNoYW5nZT8=",
      "answer_type": "dGV4dA=="
    }
  }','tool_call_request','e-b4320f2adde10cb174',6,'call',17);
INSERT INTO "store_journalentry" VALUES(184,18,'{
    "timestamp": "2026-10-05 08:33:26.425316",
    "type": "inquiry_request",
    "id": "toolu_01TourWho.answer.1",
    "source": {
      "source": "assistant"
    },
    "question": {
      "text": "Who should review the change?",
      "answer_type": {
        "type": "text"
      },
      "exclusive": true,
      "persistence": "none"
    },
    "metadata": {
      "jpweb": {
        "tool_call_id": "dG9vbHVfMDFUb3VyV2hv"
      }
    }
  }','inquiry_request','e-ab26bcce118d8b284c',6,'question',17);
INSERT INTO "store_journalentry" VALUES(185,19,'{
    "timestamp": "2026-10-05 08:33:49.696822",
    "type": "inquiry_response",
    "outcome": "answered",
    "id": "toolu_01TourWho.answer.1",
    "answer": "Sam, and the people of plot 7",
    "metadata": {
      "jpweb": {
        "by": {
          "kind": "cGVyc29u",
          "name": "QWRh"
        }
      }
    }
  }','inquiry_response','e-a33d97c7715a7a87c5',6,'outcome',17);
INSERT INTO "store_journalentry" VALUES(186,20,'{
    "timestamp": "2026-10-05 08:33:50.275608",
    "type": "tool_call_response",
    "id": "toolu_01TourWho",
    "content": "eyJhbnN3ZXJfdHlwZSI6InRleHQiLCJhbnN3ZXIiOiJTYW0sIGFuZCB0aGUgcGVvcGxlIG9mIHBsb3QgNyJ9",
    "is_error": false
  }','tool_call_response','e-6903c6be96f5320589',6,'result',17);
INSERT INTO "store_journalentry" VALUES(187,21,'{
    "timestamp": "2026-10-05 08:33:51.522749",
    "type": "tool_call_request",
    "id": "toolu_01TourPush",
    "name": "git_push",
    "arguments": {
      "remote": "b3JpZ2lu",
      "branch": "bmlja25hbWVz"
    }
  }','tool_call_request','e-42b453905090c16954',6,'call',21);
INSERT INTO "store_journalentry" VALUES(188,22,'{
    "timestamp": "2026-10-05 08:33:51.806604",
    "type": "inquiry_request",
    "id": "toolu_01TourPush.passphrase.1",
    "source": {
      "source": "tool",
      "name": "git_push"
    },
    "question": {
      "text": "Passphrase for the key “ada@orchard”?",
      "answer_type": {
        "type": "secret"
      }
    },
    "metadata": {
      "jpweb": {
        "tool_call_id": "dG9vbHVfMDFUb3VyUHVzaA=="
      }
    }
  }','inquiry_request','e-4bd09848017e633b71',6,'question',21);
INSERT INTO "store_journalentry" VALUES(189,23,'{
    "timestamp": "2026-10-05 08:34:04.199907",
    "type": "inquiry_response",
    "outcome": "redacted",
    "id": "toolu_01TourPush.passphrase.1",
    "metadata": {
      "jpweb": {
        "by": {
          "kind": "cGVyc29u",
          "name": "QWRh"
        }
      }
    }
  }','inquiry_response','e-8ab6fdd371209a4842',6,'outcome',21);
INSERT INTO "store_journalentry" VALUES(190,24,'{
    "timestamp": "2026-10-05 08:34:04.824808",
    "type": "tool_call_response",
    "id": "toolu_01TourPush",
    "content": "UHVzaGVkIG5pY2tuYW1lcyB0byBvcmlnaW4u",
    "is_error": false
  }','tool_call_response','e-eb12ba19d1b15cf89b',6,'result',21);
INSERT INTO "store_journalentry" VALUES(191,25,'{
    "timestamp": "2026-10-05 08:34:08.511554",
    "type": "chat_response",
    "message": "Three kinds of question in a row:\n\n- a **choice**, with a word of explanation for each option and a default;\n- a **text**, free to fill in;\n- a **secret**. It went straight to the one tool that waited for it. The record says that it was given, and by whom. Nobody can read it here, in the files or in an export, because it was never written down.\n\nThe first two were asked by the assistant itself, so their source is *assistant*."
  }','chat_response','e-44a964398d8a5e5380',6,'message',25);
INSERT INTO "store_journalentry" VALUES(192,26,'{
    "timestamp": "2026-10-05 08:34:57.302734",
    "type": "turn_start"
  }','turn_start','e-79b66270f3cf6d145c',6,'turn',26);
INSERT INTO "store_journalentry" VALUES(193,27,'{
    "timestamp": "2026-10-05 08:34:57.304478",
    "type": "chat_request",
    "content": "What if I type nonsense?",
    "author": "Ada"
  }','chat_request','e-0541b05a6e28d98556',6,'person',27);
INSERT INTO "store_journalentry" VALUES(194,28,'{
    "timestamp": "2026-10-05 08:34:58.078839",
    "type": "tool_call_request",
    "id": "toolu_01TourVersion",
    "name": "release_notes",
    "arguments": {
      "project": "b3JjaGFyZA=="
    }
  }','tool_call_request','e-57cd748ed9d70a5a6b',6,'call',28);
INSERT INTO "store_journalentry" VALUES(195,29,'{
    "timestamp": "2026-10-05 08:34:58.389953",
    "type": "inquiry_request",
    "id": "toolu_01TourVersion.version.1",
    "source": {
      "source": "tool",
      "name": "release_notes"
    },
    "question": {
      "text": "Which version are these notes for? (three numbers, such as 1.3.2)",
      "answer_type": {
        "type": "text"
      }
    },
    "metadata": {
      "jpweb": {
        "tool_call_id": "dG9vbHVfMDFUb3VyVmVyc2lvbg=="
      }
    }
  }','inquiry_request','e-c592f44d35cd03c619',6,'question',28);
INSERT INTO "store_journalentry" VALUES(196,30,'{
    "timestamp": "2026-10-05 08:35:07.057625",
    "type": "inquiry_response",
    "outcome": "answered",
    "id": "toolu_01TourVersion.version.1",
    "answer": "next",
    "metadata": {
      "jpweb": {
        "by": {
          "kind": "cGVyc29u",
          "name": "QWRh"
        }
      }
    }
  }','inquiry_response','e-a536c0a813a3fb3860',6,'outcome',28);
INSERT INTO "store_journalentry" VALUES(197,31,'{
    "timestamp": "2026-10-05 08:35:07.316918",
    "type": "inquiry_request",
    "id": "toolu_01TourVersion.version.2",
    "source": {
      "source": "tool",
      "name": "release_notes"
    },
    "question": {
      "text": "Which version are these notes for? (three numbers, such as 1.3.2)",
      "answer_type": {
        "type": "text"
      }
    },
    "metadata": {
      "jpweb": {
        "tool_call_id": "dG9vbHVfMDFUb3VyVmVyc2lvbg=="
      }
    }
  }','inquiry_request','e-5c2c94e2c6c08708b9',6,'question',28);
INSERT INTO "store_journalentry" VALUES(198,32,'{
    "timestamp": "2026-10-05 08:35:15.662116",
    "type": "inquiry_response",
    "outcome": "answered",
    "id": "toolu_01TourVersion.version.2",
    "answer": "1.4",
    "metadata": {
      "jpweb": {
        "by": {
          "kind": "cGVyc29u",
          "name": "QWRh"
        }
      }
    }
  }','inquiry_response','e-63f1792fbddb55e8de',6,'outcome',28);
INSERT INTO "store_journalentry" VALUES(199,33,'{
    "timestamp": "2026-10-05 08:35:15.901236",
    "type": "inquiry_request",
    "id": "toolu_01TourVersion.version.3",
    "source": {
      "source": "tool",
      "name": "release_notes"
    },
    "question": {
      "text": "Which version are these notes for? (three numbers, such as 1.3.2)",
      "answer_type": {
        "type": "text"
      }
    },
    "metadata": {
      "jpweb": {
        "tool_call_id": "dG9vbHVfMDFUb3VyVmVyc2lvbg=="
      }
    }
  }','inquiry_request','e-a8f5a5d33546f3b9ed',6,'question',28);
INSERT INTO "store_journalentry" VALUES(200,34,'{
    "timestamp": "2026-10-05 08:35:26.328208",
    "type": "inquiry_response",
    "outcome": "answered",
    "id": "toolu_01TourVersion.version.3",
    "answer": "1.4.0",
    "metadata": {
      "jpweb": {
        "by": {
          "kind": "cGVyc29u",
          "name": "QWRh"
        }
      }
    }
  }','inquiry_response','e-556bebac0e45a5a937',6,'outcome',28);
INSERT INTO "store_journalentry" VALUES(201,35,'{
    "timestamp": "2026-10-05 08:35:26.77309",
    "type": "tool_call_response",
    "id": "toolu_01TourVersion",
    "content": "V3JvdGUgbm90ZXMvMS40LjAubWQ=",
    "is_error": false
  }','tool_call_response','e-340b4ccc8b6c28451e',6,'result',28);
INSERT INTO "store_journalentry" VALUES(202,36,'{
    "timestamp": "2026-10-05 08:35:31.505779",
    "type": "chat_response",
    "message": "Then you are asked again. Above, the same question was asked three times; each attempt is kept with its own answer, and the tool went on with the last one, `1.4.0`."
  }','chat_response','e-ad658181cf706a7212',6,'message',36);
INSERT INTO "store_journalentry" VALUES(203,37,'{
    "timestamp": "2026-10-05 08:36:23.209619",
    "type": "turn_start"
  }','turn_start','e-55fb4f2438ef79e3ac',6,'turn',37);
INSERT INTO "store_journalentry" VALUES(204,38,'{
    "timestamp": "2026-10-05 08:36:23.211223",
    "type": "chat_request",
    "content": "And if I just do not want to answer?",
    "author": "Ada"
  }','chat_request','e-44445ca6cfbce04cdd',6,'person',38);
INSERT INTO "store_journalentry" VALUES(205,39,'{
    "timestamp": "2026-10-05 08:36:24.008831",
    "type": "tool_call_request",
    "id": "toolu_01TourClean",
    "name": "fs_delete_file",
    "arguments": {
      "path": "ZGF0YS8yMDE5LXN1cnZleS5jc3Y="
    }
  }','tool_call_request','e-a1b94e32b0948c4f5e',6,'call',39);
INSERT INTO "store_journalentry" VALUES(206,40,'{
    "timestamp": "2026-10-05 08:36:24.280737",
    "type": "inquiry_request",
    "id": "toolu_01TourClean.confirm.1",
    "source": {
      "source": "tool",
      "name": "fs_delete_file"
    },
    "question": {
      "text": "Delete data/2019-survey.csv for good?",
      "answer_type": {
        "type": "boolean"
      },
      "default": false
    },
    "metadata": {
      "jpweb": {
        "tool_call_id": "dG9vbHVfMDFUb3VyQ2xlYW4="
      }
    }
  }','inquiry_request','e-3c0e9ecbcd801e8f39',6,'question',39);
INSERT INTO "store_journalentry" VALUES(207,41,'{
    "timestamp": "2026-10-05 08:36:30.227216",
    "type": "inquiry_response",
    "outcome": "cancelled",
    "id": "toolu_01TourClean.confirm.1",
    "reason": "user",
    "metadata": {
      "jpweb": {
        "by": {
          "kind": "cGVyc29u",
          "name": "QWRh"
        }
      }
    }
  }','inquiry_response','e-a16664e957ec574400',6,'outcome',39);
INSERT INTO "store_journalentry" VALUES(208,42,'{
    "timestamp": "2026-10-05 08:36:30.879051",
    "type": "tool_call_response",
    "id": "toolu_01TourClean",
    "content": "VGhlIHVzZXIgZGVjbGluZWQuIE5vdGhpbmcgd2FzIGRlbGV0ZWQu",
    "is_error": true
  }','tool_call_response','e-369c180b70c8e55c5f',6,'failure',39);
INSERT INTO "store_journalentry" VALUES(209,43,'{
    "timestamp": "2026-10-05 08:36:32.054552",
    "type": "tool_call_request",
    "id": "toolu_01TourKeep",
    "name": "fs_delete_file",
    "arguments": {
      "path": "ZGF0YS9lbXB0eS5jc3Y="
    }
  }','tool_call_request','e-6d89ba095da9eec978',6,'call',43);
INSERT INTO "store_journalentry" VALUES(210,44,'{
    "timestamp": "2026-10-05 08:36:32.355807",
    "type": "inquiry_request",
    "id": "toolu_01TourKeep.confirm.1",
    "source": {
      "source": "tool",
      "name": "fs_delete_file"
    },
    "question": {
      "text": "Delete data/empty.csv for good?",
      "answer_type": {
        "type": "boolean"
      },
      "default": false
    },
    "metadata": {
      "jpweb": {
        "tool_call_id": "dG9vbHVfMDFUb3VyS2VlcA=="
      }
    }
  }','inquiry_request','e-c1070d50a954b6734a',6,'question',43);
INSERT INTO "store_journalentry" VALUES(211,45,'{
    "timestamp": "2026-10-05 08:36:37.752742",
    "type": "inquiry_response",
    "outcome": "answered",
    "id": "toolu_01TourKeep.confirm.1",
    "answer": false,
    "metadata": {
      "jpweb": {
        "by": {
          "kind": "cGVyc29u",
          "name": "QWRh"
        }
      }
    }
  }','inquiry_response','e-e9f9e52d6e992ac62f',6,'outcome',43);
INSERT INTO "store_journalentry" VALUES(212,46,'{
    "timestamp": "2026-10-05 08:36:38.415311",
    "type": "tool_call_response",
    "id": "toolu_01TourKeep",
    "content": "S2VwdCBkYXRhL2VtcHR5LmNzdi4=",
    "is_error": false
  }','tool_call_response','e-b0be21659bcfa5f020',6,'result',43);
INSERT INTO "store_journalentry" VALUES(213,47,'{
    "timestamp": "2026-10-05 08:36:41.338491",
    "type": "chat_response",
    "message": "Then decline. Declining is **cancelled by the user**: the tool is told, and nothing happens. It differs from answering *no*, which is an answer like any other; both are shown above.\n\nThere are more reasons why a question can end without an answer. *A night with nobody at the desk* shows each of them. For many questions at once see *Release 1.4 of the orchard planner*, and for what a page does with malicious text, *What hostile text looks like here*. An archived conversation from an older version is in the archive."
  }','chat_response','e-ef10d96947b6651658',6,'message',47);
INSERT INTO "store_journalentry" VALUES(214,0,'{
    "timestamp": "2026-02-16 15:40:30.815773",
    "type": "chat_request",
    "content": "Sort the plots by the age of their oldest tree."
  }','chat_request','e-53949eb69cd520707d',7,'person',0);
INSERT INTO "store_journalentry" VALUES(215,1,'{
    "timestamp": "2026-02-16 15:40:34.616788",
    "type": "chat_response",
    "reasoning": "An old file: no turn was marked in those days."
  }','chat_response','e-cc7525c92057710c24',7,'reasoning',1);
INSERT INTO "store_journalentry" VALUES(216,2,'{
    "timestamp": "2026-02-16 15:40:35.837413",
    "type": "tool_call_request",
    "id": "toolu_01OldEdit",
    "name": "fs_modify_file",
    "arguments": {
      "path": "c3JjL29yY2hhcmQvcGxvdC5weQ==",
      "patterns": [
        {
          "old": "c29ydGVkKHBsb3RzKQ==",
          "new": "c29ydGVkKHBsb3RzLCBrZXk9b2xkZXN0X3RyZWUp"
        }
      ]
    }
  }','tool_call_request','e-62d8e146d221118cb0',7,'call',2);
INSERT INTO "store_journalentry" VALUES(217,3,'{
    "timestamp": "2026-02-16 15:40:36.065243",
    "type": "inquiry_request",
    "id": "toolu_01OldEdit.apply_changes",
    "source": {
      "source": "tool",
      "name": "fs_modify_file"
    },
    "question": {
      "text": "Apply the following changes?\n\n```diff\n-    return sorted(plots)\n+    return sorted(plots, key=lambda p: p.trees)\n```",
      "answer_type": {
        "type": "boolean"
      },
      "default": true
    }
  }','inquiry_request','e-a8fadfa242315bb95d',7,'question',2);
INSERT INTO "store_journalentry" VALUES(218,4,'{
    "timestamp": "2026-02-16 15:40:45.023151",
    "type": "inquiry_response",
    "id": "toolu_01OldEdit.apply_changes",
    "answer": false
  }','inquiry_response','e-a7df6636b282711ad6',7,'outcome',2);
INSERT INTO "store_journalentry" VALUES(219,5,'{
    "timestamp": "2026-02-16 15:40:45.268529",
    "type": "inquiry_request",
    "id": "toolu_01OldEdit.apply_changes",
    "source": {
      "source": "tool",
      "name": "fs_modify_file"
    },
    "question": {
      "text": "Apply the following changes?\n\n```diff\n-    return sorted(plots)\n+    return sorted(plots, key=oldest_tree)\n```",
      "answer_type": {
        "type": "boolean"
      },
      "default": true
    }
  }','inquiry_request','e-2e38a0e5090b0c59b5',7,'question',2);
INSERT INTO "store_journalentry" VALUES(220,6,'{
    "timestamp": "2026-02-16 15:40:53.519825",
    "type": "inquiry_response",
    "id": "toolu_01OldEdit.apply_changes",
    "answer": true
  }','inquiry_response','e-2dfd78b89fce040d36',7,'outcome',2);
INSERT INTO "store_journalentry" VALUES(221,7,'{
    "timestamp": "2026-02-16 15:40:54.246978",
    "type": "tool_call_response",
    "id": "toolu_01OldEdit",
    "content": "TW9kaWZpZWQgc3JjL29yY2hhcmQvcGxvdC5weTogMSBsaW5lIGNoYW5nZWQu",
    "is_error": false
  }','tool_call_response','e-1315b167712692a0ae',7,'result',2);
INSERT INTO "store_journalentry" VALUES(222,8,'{
    "timestamp": "2026-02-16 15:40:58.756026",
    "type": "chat_response",
    "message": "Sorted. The two questions above share one id, as older versions wrote them; they are told apart by their order. Their answers do not say who gave them, because nobody noted it then."
  }','chat_response','e-93c7d56d22443975e7',7,'message',8);
INSERT INTO "store_journalentry" VALUES(223,9,'{
    "timestamp": "2026-02-16 15:41:52.586117",
    "type": "turn_start"
  }','turn_start','e-431312a65f71f6f2a6',7,'turn',9);
INSERT INTO "store_journalentry" VALUES(224,10,'{
    "timestamp": "2026-02-16 15:41:52.587678",
    "type": "chat_request",
    "content": "What does this version make of things it has never heard of?"
  }','chat_request','e-ddc1c4123d9b8b65f6',7,'person',10);
INSERT INTO "store_journalentry" VALUES(225,11,'{
    "timestamp": "2026-02-16 15:41:53.676731",
    "type": "weather_report",
    "sky": "clear",
    "degrees": 11.5,
    "note": "A kind of event that only a newer version knows."
  }','weather_report','e-7e2c18d7634c72b333',7,'unknown',11);
INSERT INTO "store_journalentry" VALUES(226,12,'{
    "timestamp": "2026-02-16 15:41:54.727845",
    "type": "chat_response",
    "text": "This reply is broken: its words are under “text” and should be under “message”."
  }','chat_response','e-571a1343e59d04468a',7,'broken',12);
INSERT INTO "store_journalentry" VALUES(227,13,'{
    "timestamp": "2026-02-16 15:41:55.469849",
    "type": "tool_call_request",
    "id": "toolu_01OldTool",
    "name": "pollination_check",
    "arguments": {
      "plot": 3
    }
  }','tool_call_request','e-d8c753bc385a48f164',7,'call',13);
INSERT INTO "store_journalentry" VALUES(228,14,'{
    "timestamp": "2026-02-16 15:41:55.684379",
    "type": "inquiry_request",
    "id": "toolu_01OldTool.bees.1",
    "source": {
      "source": "tool",
      "name": "pollination_check"
    },
    "question": {
      "text": "Are the bees about?",
      "answer_type": {
        "type": "boolean"
      }
    }
  }','inquiry_request','e-a089e10367cd5370d9',7,'question',13);
INSERT INTO "store_journalentry" VALUES(229,15,'{
    "timestamp": "2026-02-16 15:41:56.543092",
    "type": "inquiry_response",
    "outcome": "cancelled",
    "id": "toolu_01OldTool.bees.1",
    "reason": "asker_fell_asleep"
  }','inquiry_response','e-798e33dade5b0d552d',7,'dropped',13);
INSERT INTO "store_journalentry" VALUES(230,16,'{
    "timestamp": "2026-02-16 15:41:57.170764",
    "type": "tool_call_response",
    "id": "toolu_01OldTool",
    "content": "Tm8gYW5zd2VyLg==",
    "is_error": true
  }','tool_call_response','e-ff55d21a7610f60a3e',7,'failure',13);
INSERT INTO "store_journalentry" VALUES(231,17,'{
    "timestamp": "2026-02-16 15:42:00.756091",
    "type": "chat_response",
    "message": "Three things above are strange to this version, and none of them costs you the rest:\n\n1. an event of an **unknown kind** is kept and shown as it came;\n2. a **broken** event likewise, with what is wrong about it;\n3. an **unknown reason** is shown in its own words."
  }','chat_response','e-e6152156fa6b799878',7,'message',17);
INSERT INTO "store_journalentry" VALUES(232,0,'{
    "timestamp": "2026-11-22 11:19:24.943434",
    "type": "turn_start"
  }','turn_start','e-697511d1d136aafc9e',8,'turn',0);
INSERT INTO "store_journalentry" VALUES(233,1,'{
    "timestamp": "2026-11-22 11:19:24.943434",
    "type": "chat_request",
    "content": "All answered",
    "author": "Owner"
  }','chat_request','e-880666448856f08c20',8,'person',1);
INSERT INTO "store_journalentry" VALUES(234,2,'{
    "timestamp": "2026-11-22 11:19:24.976659",
    "type": "chat_response",
    "reasoning": "There is nothing to think about: the next line of the script is a question. It goes through the ask_user tool, as it would with a model."
  }','chat_response','e-f500031c2b43387ce1',8,'reasoning',2);
INSERT INTO "store_journalentry" VALUES(235,3,'{
    "timestamp": "2026-11-22 11:19:24.987099",
    "type": "chat_response",
    "message": "Hello. **I am a script, not a model**: I say the same things whatever you write. I will ask you four questions, one of them for a secret, and then repeat what reached me. Every question can be declined.\n"
  }','chat_response','e-9a960e1d1eb0d486d3',8,'message',3);
INSERT INTO "store_journalentry" VALUES(236,4,'{
    "timestamp": "2026-11-22 11:19:24.992527",
    "type": "tool_call_request",
    "id": "call_1_92a16e71",
    "name": "ask_user",
    "arguments": {
      "question": "U2hhbGwgSSBzaG93IHlvdSBob3cgcXVlc3Rpb25zIHdvcms/",
      "answer_type": "Ym9vbGVhbg=="
    }
  }','tool_call_request','e-e3c56e6d0074087b4c',8,'call',4);
INSERT INTO "store_journalentry" VALUES(237,5,'{
    "timestamp": "2026-11-22 11:19:25.008271",
    "type": "inquiry_request",
    "id": "call_1_92a16e71.answer.1",
    "source": {
      "source": "assistant"
    },
    "question": {
      "text": "Shall I show you how questions work?",
      "answer_type": {
        "type": "boolean"
      },
      "exclusive": true,
      "persistence": "none"
    },
    "metadata": {
      "jpweb": {
        "tool_call_id": "Y2FsbF8xXzkyYTE2ZTcx",
        "tool": "YXNrX3VzZXI=",
        "question_id": "YW5zd2Vy",
        "attempt": 1,
        "label": "QXNzaXN0YW50",
        "person": true
      }
    }
  }','inquiry_request','e-2659ec73d36996fe3f',8,'question',4);
INSERT INTO "store_journalentry" VALUES(238,6,'{
    "timestamp": "2026-11-22 11:19:25.421196",
    "type": "inquiry_response",
    "outcome": "answered",
    "id": "call_1_92a16e71.answer.1",
    "answer": true,
    "metadata": {
      "jpweb": {
        "by": {
          "kind": "cGVyc29u",
          "name": "T3duZXI=",
          "id": 1
        }
      }
    }
  }','inquiry_response','e-5768a2c1dc7c8f48ba',8,'outcome',4);
INSERT INTO "store_journalentry" VALUES(239,7,'{
    "timestamp": "2026-11-22 11:19:25.427331",
    "type": "tool_call_response",
    "id": "call_1_92a16e71",
    "content": "eyJhbnN3ZXJfdHlwZSI6ImJvb2xlYW4iLCJhbnN3ZXIiOnRydWV9",
    "is_error": false
  }','tool_call_response','e-13e26ecd3a3405d3cb',8,'result',4);
INSERT INTO "store_journalentry" VALUES(240,8,'{
    "timestamp": "2026-11-22 11:19:25.431119",
    "type": "tool_call_request",
    "id": "call_2_90493937",
    "name": "ask_user",
    "arguments": {
      "question": "SG93IHNob3VsZCB0aGUgcHJldGVuZCBjaGFuZ2VzIGJlIGFwcGxpZWQ/",
      "context": "VGhlIHNjcmlwdCBwcmV0ZW5kcyB0byBjaGFuZ2UgdGhyZWUgZmlsZXMuCkEgYmFja3VwIHdvdWxkIGxldCB5b3UgZ28gYmFjazsgbm90aGluZyBpcyBjaGFuZ2VkIGluIGFueSBjYXNlLg==",
      "answer_type": "c2VsZWN0",
      "options": [
        "d2l0aCBhIGJhY2t1cA==",
        "d2l0aG91dCBhIGJhY2t1cA==",
        "bm90IGF0IGFsbA=="
      ]
    }
  }','tool_call_request','e-889e027d8c79a286a9',8,'call',8);
INSERT INTO "store_journalentry" VALUES(241,9,'{
    "timestamp": "2026-11-22 11:19:25.435481",
    "type": "inquiry_request",
    "id": "call_2_90493937.answer.1",
    "source": {
      "source": "assistant"
    },
    "question": {
      "text": "How should the pretend changes be applied?",
      "answer_type": {
        "type": "select",
        "options": [
          {
            "value": "with a backup"
          },
          {
            "value": "without a backup"
          },
          {
            "value": "not at all"
          }
        ]
      },
      "context": "The script pretends to change three files.\nA backup would let you go back; nothing is changed in any case.",
      "exclusive": true,
      "persistence": "none"
    },
    "metadata": {
      "jpweb": {
        "tool_call_id": "Y2FsbF8yXzkwNDkzOTM3",
        "tool": "YXNrX3VzZXI=",
        "question_id": "YW5zd2Vy",
        "attempt": 1,
        "label": "QXNzaXN0YW50",
        "person": true
      }
    }
  }','inquiry_request','e-bc861e172f6c37dcc7',8,'question',8);
INSERT INTO "store_journalentry" VALUES(242,10,'{
    "timestamp": "2026-11-22 11:19:25.81532",
    "type": "inquiry_response",
    "outcome": "answered",
    "id": "call_2_90493937.answer.1",
    "answer": "without a backup",
    "metadata": {
      "jpweb": {
        "by": {
          "kind": "cGVyc29u",
          "name": "T3duZXI=",
          "id": 1
        }
      }
    }
  }','inquiry_response','e-5dbe0ee43fd0608707',8,'outcome',8);
INSERT INTO "store_journalentry" VALUES(243,11,'{
    "timestamp": "2026-11-22 11:19:25.824307",
    "type": "tool_call_response",
    "id": "call_2_90493937",
    "content": "eyJhbnN3ZXJfdHlwZSI6InNlbGVjdCIsImFuc3dlciI6IndpdGhvdXQgYSBiYWNrdXAifQ==",
    "is_error": false
  }','tool_call_response','e-876777a4835045033d',8,'result',8);
INSERT INTO "store_journalentry" VALUES(244,12,'{
    "timestamp": "2026-11-22 11:19:25.827496",
    "type": "tool_call_request",
    "id": "call_3_4641755e",
    "name": "ask_user",
    "arguments": {
      "question": "V2hhdCBzaG91bGQgdGhlIHByZXRlbmQgcmVwb3J0IGJlIGNhbGxlZD8=",
      "answer_type": "dGV4dA==",
      "default": "cmVwb3J0Lm1k"
    }
  }','tool_call_request','e-315f0ab74caf4b98b7',8,'call',12);
INSERT INTO "store_journalentry" VALUES(245,13,'{
    "timestamp": "2026-11-22 11:19:25.835433",
    "type": "inquiry_request",
    "id": "call_3_4641755e.answer.1",
    "source": {
      "source": "assistant"
    },
    "question": {
      "text": "What should the pretend report be called?",
      "answer_type": {
        "type": "text"
      },
      "default": "report.md",
      "exclusive": true,
      "persistence": "none"
    },
    "metadata": {
      "jpweb": {
        "tool_call_id": "Y2FsbF8zXzQ2NDE3NTVl",
        "tool": "YXNrX3VzZXI=",
        "question_id": "YW5zd2Vy",
        "attempt": 1,
        "label": "QXNzaXN0YW50",
        "person": true
      }
    }
  }','inquiry_request','e-3a678c9836cbcee42d',8,'question',12);
INSERT INTO "store_journalentry" VALUES(246,14,'{
    "timestamp": "2026-11-22 11:19:26.401838",
    "type": "inquiry_response",
    "outcome": "answered",
    "id": "call_3_4641755e.answer.1",
    "answer": "a.md",
    "metadata": {
      "jpweb": {
        "by": {
          "kind": "cGVyc29u",
          "name": "T3duZXI=",
          "id": 1
        }
      }
    }
  }','inquiry_response','e-4996d519798e1dc5cf',8,'outcome',12);
INSERT INTO "store_journalentry" VALUES(247,15,'{
    "timestamp": "2026-11-22 11:19:26.405121",
    "type": "tool_call_response",
    "id": "call_3_4641755e",
    "content": "eyJhbnN3ZXJfdHlwZSI6InRleHQiLCJhbnN3ZXIiOiJhLm1kIn0=",
    "is_error": false
  }','tool_call_response','e-e9781866646d8a7c2b',8,'result',12);
INSERT INTO "store_journalentry" VALUES(248,16,'{
    "timestamp": "2026-11-22 11:19:26.408492",
    "type": "tool_call_request",
    "id": "call_4_113c4394",
    "name": "demo_vault",
    "arguments": {}
  }','tool_call_request','e-c4f0f31b50a458c59c',8,'call',16);
INSERT INTO "store_journalentry" VALUES(249,17,'{
    "timestamp": "2026-11-22 11:19:26.413369",
    "type": "inquiry_request",
    "id": "call_4_113c4394.passphrase.1",
    "source": {
      "source": "tool",
      "name": "demo_vault"
    },
    "question": {
      "text": "What is the passphrase of the vault?",
      "answer_type": {
        "type": "secret"
      },
      "context": "This is a demonstration. Any passphrase opens it: do not type a real one."
    },
    "metadata": {
      "jpweb": {
        "tool_call_id": "Y2FsbF80XzExM2M0Mzk0",
        "tool": "ZGVtb192YXVsdA==",
        "question_id": "cGFzc3BocmFzZQ==",
        "attempt": 1,
        "person": true
      }
    }
  }','inquiry_request','e-fb26be4b4161c1fd16',8,'question',16);
INSERT INTO "store_journalentry" VALUES(250,18,'{
    "timestamp": "2026-11-22 11:19:27.016514",
    "type": "inquiry_response",
    "outcome": "redacted",
    "id": "call_4_113c4394.passphrase.1",
    "metadata": {
      "jpweb": {
        "by": {
          "kind": "cGVyc29u",
          "name": "T3duZXI=",
          "id": 1
        }
      }
    }
  }','inquiry_response','e-8c4c12a98b1e80a00d',8,'outcome',16);
INSERT INTO "store_journalentry" VALUES(251,19,'{
    "timestamp": "2026-11-22 11:19:27.022441",
    "type": "tool_call_response",
    "id": "call_4_113c4394",
    "content": "VGhlIGRlbW9uc3RyYXRpb24gdmF1bHQgaXMgb3Blbi4=",
    "is_error": false
  }','tool_call_response','e-9fadadbeee97038268',8,'result',16);
INSERT INTO "store_journalentry" VALUES(252,20,'{
    "timestamp": "2026-11-22 11:19:27.030243",
    "type": "chat_response",
    "message": "That was the script. What reached me:\n\n- **yes or no**: `true` (boolean)\n- **one of three**: `\"without a backup\"` (string)\n- **free text**: `\"a.md\"` (string)\n- **secret**: received, not shown\n"
  }','chat_response','e-2c095c463fb82ba72b',8,'message',20);
INSERT INTO "store_journalentry" VALUES(253,0,'{
    "timestamp": "2026-11-22 11:19:27.236648",
    "type": "turn_start"
  }','turn_start','e-54d0ea5e0babe963da',9,'turn',0);
INSERT INTO "store_journalentry" VALUES(254,1,'{
    "timestamp": "2026-11-22 11:19:27.236648",
    "type": "chat_request",
    "content": "All declined",
    "author": "Owner"
  }','chat_request','e-0627cb493d77defeb6',9,'person',1);
INSERT INTO "store_journalentry" VALUES(255,2,'{
    "timestamp": "2026-11-22 11:19:27.258878",
    "type": "chat_response",
    "reasoning": "There is nothing to think about: the next line of the script is a question. It goes through the ask_user tool, as it would with a model."
  }','chat_response','e-21fec6056c83cde468',9,'reasoning',2);
INSERT INTO "store_journalentry" VALUES(256,3,'{
    "timestamp": "2026-11-22 11:19:27.261177",
    "type": "chat_response",
    "message": "Hello. **I am a script, not a model**: I say the same things whatever you write. I will ask you four questions, one of them for a secret, and then repeat what reached me. Every question can be declined.\n"
  }','chat_response','e-52ed606aefb498da97',9,'message',3);
INSERT INTO "store_journalentry" VALUES(257,4,'{
    "timestamp": "2026-11-22 11:19:27.263719",
    "type": "tool_call_request",
    "id": "call_1_1985259c",
    "name": "ask_user",
    "arguments": {
      "question": "U2hhbGwgSSBzaG93IHlvdSBob3cgcXVlc3Rpb25zIHdvcms/",
      "answer_type": "Ym9vbGVhbg=="
    }
  }','tool_call_request','e-961782fb8c8160a449',9,'call',4);
INSERT INTO "store_journalentry" VALUES(258,5,'{
    "timestamp": "2026-11-22 11:19:27.267627",
    "type": "inquiry_request",
    "id": "call_1_1985259c.answer.1",
    "source": {
      "source": "assistant"
    },
    "question": {
      "text": "Shall I show you how questions work?",
      "answer_type": {
        "type": "boolean"
      },
      "exclusive": true,
      "persistence": "none"
    },
    "metadata": {
      "jpweb": {
        "tool_call_id": "Y2FsbF8xXzE5ODUyNTlj",
        "tool": "YXNrX3VzZXI=",
        "question_id": "YW5zd2Vy",
        "attempt": 1,
        "label": "QXNzaXN0YW50",
        "person": true
      }
    }
  }','inquiry_request','e-8cd346310290ea94e2',9,'question',4);
INSERT INTO "store_journalentry" VALUES(259,6,'{
    "timestamp": "2026-11-22 11:19:27.422139",
    "type": "inquiry_response",
    "outcome": "cancelled",
    "id": "call_1_1985259c.answer.1",
    "reason": "user",
    "metadata": {
      "jpweb": {
        "by": {
          "kind": "cGVyc29u",
          "name": "T3duZXI=",
          "id": 1
        }
      }
    }
  }','inquiry_response','e-f4df8e01ac119c6832',9,'outcome',4);
INSERT INTO "store_journalentry" VALUES(260,7,'{
    "timestamp": "2026-11-22 11:19:27.424995",
    "type": "tool_call_response",
    "id": "call_1_1985259c",
    "content": "VG9vbCBpbnB1dCBjYW5jZWxsZWQgYnkgdXNlci4=",
    "is_error": false
  }','tool_call_response','e-bcf7bd74b474a21ca0',9,'result',4);
INSERT INTO "store_journalentry" VALUES(261,8,'{
    "timestamp": "2026-11-22 11:19:27.427183",
    "type": "tool_call_request",
    "id": "call_2_1b40093b",
    "name": "ask_user",
    "arguments": {
      "question": "SG93IHNob3VsZCB0aGUgcHJldGVuZCBjaGFuZ2VzIGJlIGFwcGxpZWQ/",
      "context": "VGhlIHNjcmlwdCBwcmV0ZW5kcyB0byBjaGFuZ2UgdGhyZWUgZmlsZXMuCkEgYmFja3VwIHdvdWxkIGxldCB5b3UgZ28gYmFjazsgbm90aGluZyBpcyBjaGFuZ2VkIGluIGFueSBjYXNlLg==",
      "answer_type": "c2VsZWN0",
      "options": [
        "d2l0aCBhIGJhY2t1cA==",
        "d2l0aG91dCBhIGJhY2t1cA==",
        "bm90IGF0IGFsbA=="
      ]
    }
  }','tool_call_request','e-10830b71c3cd6bc9e3',9,'call',8);
INSERT INTO "store_journalentry" VALUES(262,9,'{
    "timestamp": "2026-11-22 11:19:27.447205",
    "type": "inquiry_request",
    "id": "call_2_1b40093b.answer.1",
    "source": {
      "source": "assistant"
    },
    "question": {
      "text": "How should the pretend changes be applied?",
      "answer_type": {
        "type": "select",
        "options": [
          {
            "value": "with a backup"
          },
          {
            "value": "without a backup"
          },
          {
            "value": "not at all"
          }
        ]
      },
      "context": "The script pretends to change three files.\nA backup would let you go back; nothing is changed in any case.",
      "exclusive": true,
      "persistence": "none"
    },
    "metadata": {
      "jpweb": {
        "tool_call_id": "Y2FsbF8yXzFiNDAwOTNi",
        "tool": "YXNrX3VzZXI=",
        "question_id": "YW5zd2Vy",
        "attempt": 1,
        "label": "QXNzaXN0YW50",
        "person": true
      }
    }
  }','inquiry_request','e-4d59d7eed729864150',9,'question',8);
INSERT INTO "store_journalentry" VALUES(263,10,'{
    "timestamp": "2026-11-22 11:19:27.724056",
    "type": "inquiry_response",
    "outcome": "cancelled",
    "id": "call_2_1b40093b.answer.1",
    "reason": "user",
    "metadata": {
      "jpweb": {
        "by": {
          "kind": "cGVyc29u",
          "name": "T3duZXI=",
          "id": 1
        }
      }
    }
  }','inquiry_response','e-7207bdc3491a74717b',9,'outcome',8);
INSERT INTO "store_journalentry" VALUES(264,11,'{
    "timestamp": "2026-11-22 11:19:27.726977",
    "type": "tool_call_response",
    "id": "call_2_1b40093b",
    "content": "VG9vbCBpbnB1dCBjYW5jZWxsZWQgYnkgdXNlci4=",
    "is_error": false
  }','tool_call_response','e-102d9dde3d467aea2e',9,'result',8);
INSERT INTO "store_journalentry" VALUES(265,12,'{
    "timestamp": "2026-11-22 11:19:27.738892",
    "type": "tool_call_request",
    "id": "call_3_4694c1c5",
    "name": "ask_user",
    "arguments": {
      "question": "V2hhdCBzaG91bGQgdGhlIHByZXRlbmQgcmVwb3J0IGJlIGNhbGxlZD8=",
      "answer_type": "dGV4dA==",
      "default": "cmVwb3J0Lm1k"
    }
  }','tool_call_request','e-bd574d00095c93adf3',9,'call',12);
INSERT INTO "store_journalentry" VALUES(266,13,'{
    "timestamp": "2026-11-22 11:19:27.759101",
    "type": "inquiry_request",
    "id": "call_3_4694c1c5.answer.1",
    "source": {
      "source": "assistant"
    },
    "question": {
      "text": "What should the pretend report be called?",
      "answer_type": {
        "type": "text"
      },
      "default": "report.md",
      "exclusive": true,
      "persistence": "none"
    },
    "metadata": {
      "jpweb": {
        "tool_call_id": "Y2FsbF8zXzQ2OTRjMWM1",
        "tool": "YXNrX3VzZXI=",
        "question_id": "YW5zd2Vy",
        "attempt": 1,
        "label": "QXNzaXN0YW50",
        "person": true
      }
    }
  }','inquiry_request','e-d24971da2a81b48d25',9,'question',12);
INSERT INTO "store_journalentry" VALUES(267,14,'{
    "timestamp": "2026-11-22 11:19:28.064172",
    "type": "inquiry_response",
    "outcome": "cancelled",
    "id": "call_3_4694c1c5.answer.1",
    "reason": "user",
    "metadata": {
      "jpweb": {
        "by": {
          "kind": "cGVyc29u",
          "name": "T3duZXI=",
          "id": 1
        },
        "note": "Tm90IHRvZGF5"
      }
    }
  }','inquiry_response','e-9567cf24506505e61a',9,'outcome',12);
INSERT INTO "store_journalentry" VALUES(268,15,'{
    "timestamp": "2026-11-22 11:19:28.071284",
    "type": "tool_call_response",
    "id": "call_3_4694c1c5",
    "content": "VG9vbCBpbnB1dCBjYW5jZWxsZWQgYnkgdXNlcjogTm90IHRvZGF5",
    "is_error": false
  }','tool_call_response','e-51ee4e327be8ea2e12',9,'result',12);
INSERT INTO "store_journalentry" VALUES(269,16,'{
    "timestamp": "2026-11-22 11:19:28.083289",
    "type": "tool_call_request",
    "id": "call_4_b9045fad",
    "name": "demo_vault",
    "arguments": {}
  }','tool_call_request','e-29b3f95bf0df9f2b6f',9,'call',16);
INSERT INTO "store_journalentry" VALUES(270,17,'{
    "timestamp": "2026-11-22 11:19:28.088735",
    "type": "inquiry_request",
    "id": "call_4_b9045fad.passphrase.1",
    "source": {
      "source": "tool",
      "name": "demo_vault"
    },
    "question": {
      "text": "What is the passphrase of the vault?",
      "answer_type": {
        "type": "secret"
      },
      "context": "This is a demonstration. Any passphrase opens it: do not type a real one."
    },
    "metadata": {
      "jpweb": {
        "tool_call_id": "Y2FsbF80X2I5MDQ1ZmFk",
        "tool": "ZGVtb192YXVsdA==",
        "question_id": "cGFzc3BocmFzZQ==",
        "attempt": 1,
        "person": true
      }
    }
  }','inquiry_request','e-e9fa9e977abcd0c7c5',9,'question',16);
INSERT INTO "store_journalentry" VALUES(271,18,'{
    "timestamp": "2026-11-22 11:19:28.48027",
    "type": "inquiry_response",
    "outcome": "cancelled",
    "id": "call_4_b9045fad.passphrase.1",
    "reason": "user",
    "metadata": {
      "jpweb": {
        "by": {
          "kind": "cGVyc29u",
          "name": "T3duZXI=",
          "id": 1
        }
      }
    }
  }','inquiry_response','e-7058e6b99ba2951655',9,'outcome',16);
INSERT INTO "store_journalentry" VALUES(272,19,'{
    "timestamp": "2026-11-22 11:19:28.486136",
    "type": "tool_call_response",
    "id": "call_4_b9045fad",
    "content": "VG9vbCBpbnB1dCBjYW5jZWxsZWQgYnkgdXNlci4=",
    "is_error": false
  }','tool_call_response','e-e8b22a3ab162e5d658',9,'result',16);
INSERT INTO "store_journalentry" VALUES(273,0,'{
    "timestamp": "2026-11-22 11:19:28.866262",
    "type": "turn_start"
  }','turn_start','e-1f3b138fdf8a43abb8',10,'turn',0);
INSERT INTO "store_journalentry" VALUES(274,1,'{
    "timestamp": "2026-11-22 11:19:28.866262",
    "type": "chat_request",
    "content": "Stopped",
    "author": "Owner"
  }','chat_request','e-ce8c8dc64d991e0012',10,'person',1);
INSERT INTO "store_journalentry" VALUES(275,2,'{
    "timestamp": "2026-11-22 11:19:28.892315",
    "type": "chat_response",
    "reasoning": "There is nothing to think about: the next line of the script is a question. It goes through the ask_user tool, as it would with a model."
  }','chat_response','e-691168b43916a8b031',10,'reasoning',2);
INSERT INTO "store_journalentry" VALUES(276,3,'{
    "timestamp": "2026-11-22 11:19:28.914339",
    "type": "chat_response",
    "message": "Hello. **I am a script, not a model**: I say the same things whatever you write. I will ask you four questions, one of them for a secret, and then repeat what reached me. Every question can be declined.\n"
  }','chat_response','e-5bebb9a28484eda289',10,'message',3);
INSERT INTO "store_journalentry" VALUES(277,4,'{
    "timestamp": "2026-11-22 11:19:28.933386",
    "type": "tool_call_request",
    "id": "call_1_5d312243",
    "name": "ask_user",
    "arguments": {
      "question": "U2hhbGwgSSBzaG93IHlvdSBob3cgcXVlc3Rpb25zIHdvcms/",
      "answer_type": "Ym9vbGVhbg=="
    }
  }','tool_call_request','e-d161d9b71f371e3daa',10,'call',4);
INSERT INTO "store_journalentry" VALUES(278,5,'{
    "timestamp": "2026-11-22 11:19:28.969717",
    "type": "inquiry_request",
    "id": "call_1_5d312243.answer.1",
    "source": {
      "source": "assistant"
    },
    "question": {
      "text": "Shall I show you how questions work?",
      "answer_type": {
        "type": "boolean"
      },
      "exclusive": true,
      "persistence": "none"
    },
    "metadata": {
      "jpweb": {
        "tool_call_id": "Y2FsbF8xXzVkMzEyMjQz",
        "tool": "YXNrX3VzZXI=",
        "question_id": "YW5zd2Vy",
        "attempt": 1,
        "label": "QXNzaXN0YW50",
        "person": true
      }
    }
  }','inquiry_request','e-cb2926531ac895528b',10,'question',4);
INSERT INTO "store_journalentry" VALUES(279,6,'{
    "timestamp": "2026-11-22 11:19:29.222565",
    "type": "inquiry_response",
    "outcome": "cancelled",
    "id": "call_1_5d312243.answer.1",
    "reason": "user",
    "metadata": {
      "jpweb": {
        "by": {
          "kind": "cGVyc29u",
          "name": "T3duZXI=",
          "id": 1
        },
        "withdrawn": true
      }
    }
  }','inquiry_response','e-8d3d00a8213bea52f8',10,'outcome',4);
INSERT INTO "store_journalentry" VALUES(280,7,'{
    "timestamp": "2026-11-22 11:19:29.224302",
    "type": "tool_call_response",
    "id": "call_1_5d312243",
    "content": "VGhlIHVzZXIgc3RvcHBlZCB0aGlzIHRvb2wgY2FsbCBvbiBwdXJwb3NlLCBiZWZvcmUgaXQgaGFkIGEgcmVzdWx0LiBEbyBub3QgcmVwZWF0IGl0IGFzIGl0IHdhczsgZmluZCBvdXQgZnJvbSB0aGUgdXNlciB3aGF0IHRoZXkgd2FudCBpbnN0ZWFkLg==",
    "is_error": false
  }','tool_call_response','e-ece28327a87ff7ddb1',10,'result',4);
INSERT INTO "store_journalentry" VALUES(281,0,'{
    "timestamp": "2026-11-22 11:19:29.455077",
    "type": "turn_start"
  }','turn_start','e-47554418a0003a0075',11,'turn',0);
INSERT INTO "store_journalentry" VALUES(282,1,'{
    "timestamp": "2026-11-22 11:19:29.455077",
    "type": "chat_request",
    "content": "Waiting",
    "author": "Owner"
  }','chat_request','e-bfd9b4ba383743dc79',11,'person',1);
INSERT INTO "store_journalentry" VALUES(283,2,'{
    "timestamp": "2026-11-22 11:19:29.478736",
    "type": "chat_response",
    "reasoning": "There is nothing to think about: the next line of the script is a question. It goes through the ask_user tool, as it would with a model."
  }','chat_response','e-4b860f866ade6ab0d4',11,'reasoning',2);
INSERT INTO "store_journalentry" VALUES(284,3,'{
    "timestamp": "2026-11-22 11:19:29.481192",
    "type": "chat_response",
    "message": "Hello. **I am a script, not a model**: I say the same things whatever you write. I will ask you four questions, one of them for a secret, and then repeat what reached me. Every question can be declined.\n"
  }','chat_response','e-29187e78f66baf550d',11,'message',3);
INSERT INTO "store_journalentry" VALUES(285,4,'{
    "timestamp": "2026-11-22 11:19:29.484225",
    "type": "tool_call_request",
    "id": "call_1_ede3e22a",
    "name": "ask_user",
    "arguments": {
      "question": "U2hhbGwgSSBzaG93IHlvdSBob3cgcXVlc3Rpb25zIHdvcms/",
      "answer_type": "Ym9vbGVhbg=="
    }
  }','tool_call_request','e-37c7ad997994bb7d14',11,'call',4);
INSERT INTO "store_journalentry" VALUES(286,5,'{
    "timestamp": "2026-11-22 11:19:29.488527",
    "type": "inquiry_request",
    "id": "call_1_ede3e22a.answer.1",
    "source": {
      "source": "assistant"
    },
    "question": {
      "text": "Shall I show you how questions work?",
      "answer_type": {
        "type": "boolean"
      },
      "exclusive": true,
      "persistence": "none"
    },
    "metadata": {
      "jpweb": {
        "tool_call_id": "Y2FsbF8xX2VkZTNlMjJh",
        "tool": "YXNrX3VzZXI=",
        "question_id": "YW5zd2Vy",
        "attempt": 1,
        "label": "QXNzaXN0YW50",
        "person": true
      }
    }
  }','inquiry_request','e-049de4bd066c473ae4',11,'question',4);
INSERT INTO "store_journalentry" VALUES(287,6,'{
    "timestamp": "2026-11-22 11:19:29.843594",
    "type": "inquiry_response",
    "outcome": "answered",
    "id": "call_1_ede3e22a.answer.1",
    "answer": false,
    "metadata": {
      "jpweb": {
        "by": {
          "kind": "cGVyc29u",
          "name": "T3duZXI=",
          "id": 1
        }
      }
    }
  }','inquiry_response','e-0df756f694f725c933',11,'outcome',4);
INSERT INTO "store_journalentry" VALUES(288,7,'{
    "timestamp": "2026-11-22 11:19:29.847953",
    "type": "tool_call_response",
    "id": "call_1_ede3e22a",
    "content": "eyJhbnN3ZXJfdHlwZSI6ImJvb2xlYW4iLCJhbnN3ZXIiOmZhbHNlfQ==",
    "is_error": false
  }','tool_call_response','e-7962668cd55021e126',11,'result',4);
INSERT INTO "store_journalentry" VALUES(289,8,'{
    "timestamp": "2026-11-22 11:19:29.85966",
    "type": "tool_call_request",
    "id": "call_2_2ef94b00",
    "name": "ask_user",
    "arguments": {
      "question": "SG93IHNob3VsZCB0aGUgcHJldGVuZCBjaGFuZ2VzIGJlIGFwcGxpZWQ/",
      "context": "VGhlIHNjcmlwdCBwcmV0ZW5kcyB0byBjaGFuZ2UgdGhyZWUgZmlsZXMuCkEgYmFja3VwIHdvdWxkIGxldCB5b3UgZ28gYmFjazsgbm90aGluZyBpcyBjaGFuZ2VkIGluIGFueSBjYXNlLg==",
      "answer_type": "c2VsZWN0",
      "options": [
        "d2l0aCBhIGJhY2t1cA==",
        "d2l0aG91dCBhIGJhY2t1cA==",
        "bm90IGF0IGFsbA=="
      ]
    }
  }','tool_call_request','e-fd753410a3aac2b794',11,'call',8);
INSERT INTO "store_journalentry" VALUES(290,9,'{
    "timestamp": "2026-11-22 11:19:29.903233",
    "type": "inquiry_request",
    "id": "call_2_2ef94b00.answer.1",
    "source": {
      "source": "assistant"
    },
    "question": {
      "text": "How should the pretend changes be applied?",
      "answer_type": {
        "type": "select",
        "options": [
          {
            "value": "with a backup"
          },
          {
            "value": "without a backup"
          },
          {
            "value": "not at all"
          }
        ]
      },
      "context": "The script pretends to change three files.\nA backup would let you go back; nothing is changed in any case.",
      "exclusive": true,
      "persistence": "none"
    },
    "metadata": {
      "jpweb": {
        "tool_call_id": "Y2FsbF8yXzJlZjk0YjAw",
        "tool": "YXNrX3VzZXI=",
        "question_id": "YW5zd2Vy",
        "attempt": 1,
        "label": "QXNzaXN0YW50",
        "person": true
      }
    }
  }','inquiry_request','e-b576530693595a5bc6',11,'question',8);
CREATE TABLE "store_keptresult" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "tool_call_id" text NOT NULL, "content" text NULL, "is_error" bool NOT NULL, "edited" text NULL CHECK ((JSON_VALID("edited") OR "edited" IS NULL)), "delivered" bool NOT NULL, "again" bool NOT NULL, "run_id" bigint NOT NULL REFERENCES "store_run" ("id") DEFERRABLE INITIALLY DEFERRED, CONSTRAINT "one_result_a_call" UNIQUE ("run_id", "tool_call_id"));
CREATE TABLE "store_membership" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "role" smallint unsigned NOT NULL CHECK ("role" >= 0), "person_id" bigint NOT NULL REFERENCES "store_person" ("id") DEFERRABLE INITIALLY DEFERRED, "workspace_id" bigint NOT NULL REFERENCES "store_workspace" ("id") DEFERRABLE INITIALLY DEFERRED, CONSTRAINT "one_role_a_workspace" UNIQUE ("person_id", "workspace_id"));
INSERT INTO "store_membership" VALUES(2,40,1,2);
INSERT INTO "store_membership" VALUES(3,20,2,2);
CREATE TABLE "store_notice" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "sent_at" datetime NOT NULL, "problem" varchar(500) NOT NULL, "address_id" bigint NOT NULL REFERENCES "store_address" ("id") DEFERRABLE INITIALLY DEFERRED, "inquiry_id" bigint NULL REFERENCES "store_inquiry" ("id") DEFERRABLE INITIALLY DEFERRED, "prompt_id" bigint NULL REFERENCES "store_prompt" ("id") DEFERRABLE INITIALLY DEFERRED, CONSTRAINT "one_notice_a_question_and_address" UNIQUE ("address_id", "inquiry_id"), CONSTRAINT "one_notice_a_prompt_and_address" UNIQUE ("address_id", "prompt_id"));
CREATE TABLE "store_passage" ("id" bigint NOT NULL PRIMARY KEY, "position" integer NOT NULL, "part" integer unsigned NOT NULL CHECK ("part" >= 0), "head" integer unsigned NOT NULL CHECK ("head" >= 0), "anchor" varchar(80) NOT NULL, "facet" varchar(20) NOT NULL, "at" datetime NOT NULL, "body" text NOT NULL, "tags" text NOT NULL, "tool" varchar(200) NOT NULL, "who" varchar(200) NOT NULL, "state" varchar(20) NOT NULL, "reason" varchar(200) NOT NULL, "conversation_id" bigint NOT NULL REFERENCES "store_conversation" ("id") DEFERRABLE INITIALLY DEFERRED, CONSTRAINT "one_passage_a_place" UNIQUE ("conversation_id", "position", "part"));
INSERT INTO "store_passage" VALUES(3756395619732684800,-1,0,0,'','title','2026-10-05 08:30:12.400000','A tour of questions and answers
project=orchard
tour','ftitle l0f94f0504fedd7fe l66b02781de95c8fc lf0a2406a9e78f329 w2','','','','',6);
INSERT INTO "store_passage" VALUES(3756395619944497160,1,0,1,'e-389fd36afa34c6603c','person','2026-10-05 08:30:12.501753','I am new here. What am I looking at?','fperson l0f94f0504fedd7fe l66b02781de95c8fc lf0a2406a9e78f329 p15b0da4321160527 w2','','Ada','','',6);
INSERT INTO "store_passage" VALUES(3756395627722833932,2,0,2,'e-d26c27e134203f77ea','message','2026-10-05 08:30:16.210016','You are looking at **one conversation** between a person and an assistant. It is made of turns: you say something, the assistant works, the assistant replies.

While it works it calls tools. A tool call unfolds into what went in, what came out, and every **question** that was asked on the way. Each question ends in exactly one of these ways:

| Outcome | What happened | Is the answer on record? |
| --- | --- | --- |
| answered | a person, a rule or the assistant answered | yes |
| redacted | a secret was delivered to whoever asked | never |
| cancelled | it was closed without an answer, for a stated reason | there is none |

Three things worth trying:

1. Open a tool call below and read the question inside it.
2. Copy the link of a single event; it keeps working when the conversation grows.
3. Look for the person beside an answer. *Who said yes* is never a mystery here.

The rest of this tour is a small project, an orchard planner, being looked after.','fmessage l0f94f0504fedd7fe l66b02781de95c8fc lf0a2406a9e78f329 w2','','','','',6);
INSERT INTO "store_passage" VALUES(3756395787691491348,4,0,4,'e-cd86fa1087fbbe4967','person','2026-10-05 08:31:32.489052','Let a tree have a nickname. Change the model first, please.','fperson l0f94f0504fedd7fe l66b02781de95c8fc lf0a2406a9e78f329 p15b0da4321160527 w2','','Ada','','',6);
INSERT INTO "store_passage" VALUES(3756395792405889048,5,0,5,'e-2bd3d987f323c8cea2','reasoning','2026-10-05 08:31:34.737999','One file holds the model. I propose the edit and let the tool ask before it writes.','freasoning l0f94f0504fedd7fe l66b02781de95c8fc lf0a2406a9e78f329 w2','','','','',6);
INSERT INTO "store_passage" VALUES(3756395794391891996,6,0,6,'e-cace5c1fc928d9b056','call','2026-10-05 08:31:35.684736','fs_modify_file
path: src/orchard/tree.py
patterns: old:     planted: date

new:     planted: date
    nickname: str | None = None
','fcall l0f94f0504fedd7fe l66b02781de95c8fc lf0a2406a9e78f329 t27a4789bc22dbaa2 tacde952405242299 tfe08161ef4abeaec w2','fs_modify_file','','','',6);
INSERT INTO "store_passage" VALUES(3756395794947637280,7,0,6,'e-726d9f22afc8557cb1','question','2026-10-05 08:31:35.949803','Apply the following changes?

```diff
--- src/orchard/tree.py
+++ src/orchard/tree.py
@@ -7,4 +7,5 @@ class Tree:
     species: str
     planted: date
+    nickname: str | None = None
     height_cm: int
```
default: true','fquestion l0f94f0504fedd7fe l66b02781de95c8fc lf0a2406a9e78f329 oanswered p15b0da4321160527 t27a4789bc22dbaa2 tacde952405242299 tfe08161ef4abeaec w2','fs_modify_file','Ada','answered','',6);
INSERT INTO "store_passage" VALUES(3756395819062788132,8,0,6,'e-0f15288c93caf2dbfc','outcome','2026-10-05 08:31:47.448872','true','foutcome l0f94f0504fedd7fe l66b02781de95c8fc lf0a2406a9e78f329 oanswered p15b0da4321160527 t27a4789bc22dbaa2 tacde952405242299 tfe08161ef4abeaec w2','fs_modify_file','Ada','answered','',6);
INSERT INTO "store_passage" VALUES(3756395820419645480,9,0,6,'e-b621a9360bf7be74a6','result','2026-10-05 08:31:48.095209','Modified src/orchard/tree.py: 1 line added.','fresult l0f94f0504fedd7fe l66b02781de95c8fc lf0a2406a9e78f329 t27a4789bc22dbaa2 tacde952405242299 tfe08161ef4abeaec w2','fs_modify_file','','','',6);
INSERT INTO "store_passage" VALUES(3756395830964125740,10,0,10,'e-5e108329ba6314782c','message','2026-10-05 08:31:53.123743','A tree may now have a nickname:

```python
Tree("Malus domestica", planted=date(2021, 3, 4), nickname="Old Bess", height_cm=310)
```

This is the most common question of all: *may I write this file?* The tool asked it, so its source is the tool. Ada said yes.','fmessage l0f94f0504fedd7fe l66b02781de95c8fc lf0a2406a9e78f329 w2','','','','',6);
INSERT INTO "store_passage" VALUES(3756395952705896500,12,0,12,'e-44cc7d95a9363dc76f','person','2026-10-05 08:32:51.174991','Now decide with me how old data gets the new field. Ask me whatever you need.','fperson l0f94f0504fedd7fe l66b02781de95c8fc lf0a2406a9e78f329 p15b0da4321160527 w2','','Ada','','',6);
INSERT INTO "store_passage" VALUES(3756395954201165880,13,0,13,'e-3c48f2088d3eaf9c4f','call','2026-10-05 08:32:51.887680','ask_user
question: How shall existing trees be handled?
answer_type: select
options: leave
species
ask
default: leave
context: 412 trees are stored already. None of them has a nickname.','fcall l0f94f0504fedd7fe l66b02781de95c8fc lf0a2406a9e78f329 t5649605854ac91f2 t74de030776885fae w2','ask_user','','','',6);
INSERT INTO "store_passage" VALUES(3756395954819825724,14,0,13,'e-97b4edaa6d59a85dc3','question','2026-10-05 08:32:52.182058','How shall existing trees be handled?
412 trees are stored already. None of them has a nickname.
leave
Leave the field empty; nothing is rewritten
species
Fill in the name of the species
ask
Ask the gardener of each plot by mail
default: leave','fquestion l0f94f0504fedd7fe l66b02781de95c8fc lf0a2406a9e78f329 oanswered p15b0da4321160527 t5649605854ac91f2 t74de030776885fae w2','ask_user','Ada','answered','',6);
INSERT INTO "store_passage" VALUES(3756396022723510336,15,0,13,'e-e1e892e6db0807a25d','outcome','2026-10-05 08:33:24.561262','leave','foutcome l0f94f0504fedd7fe l66b02781de95c8fc lf0a2406a9e78f329 oanswered p15b0da4321160527 t5649605854ac91f2 t74de030776885fae w2','ask_user','Ada','answered','',6);
INSERT INTO "store_passage" VALUES(3756396024021647428,16,0,13,'e-bc11a13a3b71b5af59','result','2026-10-05 08:33:25.180281','{"answer_type":"select","answer":"leave"}','fresult l0f94f0504fedd7fe l66b02781de95c8fc lf0a2406a9e78f329 t5649605854ac91f2 t74de030776885fae w2','ask_user','','','',6);
INSERT INTO "store_passage" VALUES(3756396025890209864,17,0,17,'e-b4320f2adde10cb174','call','2026-10-05 08:33:26.071055','ask_user
question: Who should review the change?
answer_type: text','fcall l0f94f0504fedd7fe l66b02781de95c8fc lf0a2406a9e78f329 t5649605854ac91f2 t74de030776885fae w2','ask_user','','','',6);
INSERT INTO "store_passage" VALUES(3756396026632601676,18,0,17,'e-ab26bcce118d8b284c','question','2026-10-05 08:33:26.425316','Who should review the change?','fquestion l0f94f0504fedd7fe l66b02781de95c8fc lf0a2406a9e78f329 oanswered p15b0da4321160527 t5649605854ac91f2 t74de030776885fae w2','ask_user','Ada','answered','',6);
INSERT INTO "store_passage" VALUES(3756396075435425872,19,0,17,'e-a33d97c7715a7a87c5','outcome','2026-10-05 08:33:49.696822','Sam, and the people of plot 7','foutcome l0f94f0504fedd7fe l66b02781de95c8fc lf0a2406a9e78f329 oanswered p15b0da4321160527 t5649605854ac91f2 t74de030776885fae w2','ask_user','Ada','answered','',6);
INSERT INTO "store_passage" VALUES(3756396076649676884,20,0,17,'e-6903c6be96f5320589','result','2026-10-05 08:33:50.275608','{"answer_type":"text","answer":"Sam, and the people of plot 7"}','fresult l0f94f0504fedd7fe l66b02781de95c8fc lf0a2406a9e78f329 t5649605854ac91f2 t74de030776885fae w2','ask_user','','','',6);
INSERT INTO "store_passage" VALUES(3756396079264825432,21,0,21,'e-42b453905090c16954','call','2026-10-05 08:33:51.522749','git_push
remote: origin
branch: nicknames','fcall l0f94f0504fedd7fe l66b02781de95c8fc lf0a2406a9e78f329 t0e1575a789c70177 t9795950813c87e50 w2','git_push','','','',6);
INSERT INTO "store_passage" VALUES(3756396079860416604,22,0,21,'e-4bd09848017e633b71','question','2026-10-05 08:33:51.806604','Passphrase for the key “ada@orchard”?','fquestion l0f94f0504fedd7fe l66b02781de95c8fc lf0a2406a9e78f329 oredacted p15b0da4321160527 t0e1575a789c70177 t9795950813c87e50 w2','git_push','Ada','redacted','',6);
INSERT INTO "store_passage" VALUES(3756396107161141348,24,0,21,'e-eb12ba19d1b15cf89b','result','2026-10-05 08:34:04.824808','Pushed nicknames to origin.','fresult l0f94f0504fedd7fe l66b02781de95c8fc lf0a2406a9e78f329 t0e1575a789c70177 t9795950813c87e50 w2','git_push','','','',6);
INSERT INTO "store_passage" VALUES(3756396114893340776,25,0,25,'e-44a964398d8a5e5380','message','2026-10-05 08:34:08.511554','Three kinds of question in a row:

- a **choice**, with a word of explanation for each option and a default;
- a **text**, free to fill in;
- a **secret**. It went straight to the one tool that waited for it. The record says that it was given, and by whom. Nobody can read it here, in the files or in an export, because it was never written down.

The first two were asked by the assistant itself, so their source is *assistant*.','fmessage l0f94f0504fedd7fe l66b02781de95c8fc lf0a2406a9e78f329 w2','','','','',6);
INSERT INTO "store_passage" VALUES(3756396217219678320,27,0,27,'e-0541b05a6e28d98556','person','2026-10-05 08:34:57.304478','What if I type nonsense?','fperson l0f94f0504fedd7fe l66b02781de95c8fc lf0a2406a9e78f329 p15b0da4321160527 w2','','Ada','','',6);
INSERT INTO "store_passage" VALUES(3756396218842873972,28,0,28,'e-57cd748ed9d70a5a6b','call','2026-10-05 08:34:58.078839','release_notes
project: orchard','fcall l0f94f0504fedd7fe l66b02781de95c8fc lf0a2406a9e78f329 t9f95d8d0532ae4aa tfd6751c91a00f3da w2','release_notes','','','',6);
INSERT INTO "store_passage" VALUES(3756396219495088248,29,0,28,'e-c592f44d35cd03c619','question','2026-10-05 08:34:58.389953','Which version are these notes for? (three numbers, such as 1.3.2)','fquestion l0f94f0504fedd7fe l66b02781de95c8fc lf0a2406a9e78f329 oanswered p15b0da4321160527 t9f95d8d0532ae4aa tfd6751c91a00f3da w2','release_notes','Ada','answered','',6);
INSERT INTO "store_passage" VALUES(3756396237673201788,30,0,28,'e-a536c0a813a3fb3860','outcome','2026-10-05 08:35:07.057625','next','foutcome l0f94f0504fedd7fe l66b02781de95c8fc lf0a2406a9e78f329 oanswered p15b0da4321160527 t9f95d8d0532ae4aa tfd6751c91a00f3da w2','release_notes','Ada','answered','',6);
INSERT INTO "store_passage" VALUES(3756396238216364160,31,0,28,'e-5c2c94e2c6c08708b9','question','2026-10-05 08:35:07.316918','Which version are these notes for? (three numbers, such as 1.3.2)','fquestion l0f94f0504fedd7fe l66b02781de95c8fc lf0a2406a9e78f329 oanswered p15b0da4321160527 t9f95d8d0532ae4aa tfd6751c91a00f3da w2','release_notes','Ada','answered','',6);
INSERT INTO "store_passage" VALUES(3756396255719194756,32,0,28,'e-63f1792fbddb55e8de','outcome','2026-10-05 08:35:15.662116','1.4','foutcome l0f94f0504fedd7fe l66b02781de95c8fc lf0a2406a9e78f329 oanswered p15b0da4321160527 t9f95d8d0532ae4aa tfd6751c91a00f3da w2','release_notes','Ada','answered','',6);
INSERT INTO "store_passage" VALUES(3756396256220414088,33,0,28,'e-a8f5a5d33546f3b9ed','question','2026-10-05 08:35:15.901236','Which version are these notes for? (three numbers, such as 1.3.2)','fquestion l0f94f0504fedd7fe l66b02781de95c8fc lf0a2406a9e78f329 oanswered p15b0da4321160527 t9f95d8d0532ae4aa tfd6751c91a00f3da w2','release_notes','Ada','answered','',6);
INSERT INTO "store_passage" VALUES(3756396278087417996,34,0,28,'e-556bebac0e45a5a937','outcome','2026-10-05 08:35:26.328208','1.4.0','foutcome l0f94f0504fedd7fe l66b02781de95c8fc lf0a2406a9e78f329 oanswered p15b0da4321160527 t9f95d8d0532ae4aa tfd6751c91a00f3da w2','release_notes','Ada','answered','',6);
INSERT INTO "store_passage" VALUES(3756396279020650640,35,0,28,'e-340b4ccc8b6c28451e','result','2026-10-05 08:35:26.773090','Wrote notes/1.4.0.md','fresult l0f94f0504fedd7fe l66b02781de95c8fc lf0a2406a9e78f329 t9f95d8d0532ae4aa tfd6751c91a00f3da w2','release_notes','','','',6);
INSERT INTO "store_passage" VALUES(3756396288944373908,36,0,36,'e-ad658181cf706a7212','message','2026-10-05 08:35:31.505779','Then you are asked again. Above, the same question was asked three times; each attempt is kept with its own answer, and the tool went on with the last one, `1.4.0`.','fmessage l0f94f0504fedd7fe l66b02781de95c8fc lf0a2406a9e78f329 w2','','','','',6);
INSERT INTO "store_passage" VALUES(3756396397379715228,38,0,38,'e-44445ca6cfbce04cdd','person','2026-10-05 08:36:23.211223','And if I just do not want to answer?','fperson l0f94f0504fedd7fe l66b02781de95c8fc lf0a2406a9e78f329 p15b0da4321160527 w2','','Ada','','',6);
INSERT INTO "store_passage" VALUES(3756396399051145376,39,0,39,'e-a1b94e32b0948c4f5e','call','2026-10-05 08:36:24.008831','fs_delete_file
path: data/2019-survey.csv','fcall l0f94f0504fedd7fe l66b02781de95c8fc lf0a2406a9e78f329 t79fb43666fe59f42 tacde952405242299 tf34ed02fc3d72833 w2','fs_delete_file','','','',6);
INSERT INTO "store_passage" VALUES(3756396399621570724,40,0,39,'e-3c0e9ecbcd801e8f39','question','2026-10-05 08:36:24.280737','Delete data/2019-survey.csv for good?
default: false','fquestion l0f94f0504fedd7fe l66b02781de95c8fc lf0a2406a9e78f329 ocancelled p15b0da4321160527 rafdf5c9a7bd48d63 t79fb43666fe59f42 tacde952405242299 tf34ed02fc3d72833 w2','fs_delete_file','Ada','cancelled','user',6);
INSERT INTO "store_passage" VALUES(3756396413460676780,42,0,39,'e-369c180b70c8e55c5f','failure','2026-10-05 08:36:30.879051','The user declined. Nothing was deleted.','ffailure l0f94f0504fedd7fe l66b02781de95c8fc lf0a2406a9e78f329 t79fb43666fe59f42 tacde952405242299 tf34ed02fc3d72833 w2','fs_delete_file','','','',6);
INSERT INTO "store_passage" VALUES(3756396415924830384,43,0,43,'e-6d89ba095da9eec978','call','2026-10-05 08:36:32.054552','fs_delete_file
path: data/empty.csv','fcall l0f94f0504fedd7fe l66b02781de95c8fc lf0a2406a9e78f329 t79fb43666fe59f42 tacde952405242299 tf34ed02fc3d72833 w2','fs_delete_file','','','',6);
INSERT INTO "store_passage" VALUES(3756396416556073140,44,0,43,'e-c1070d50a954b6734a','question','2026-10-05 08:36:32.355807','Delete data/empty.csv for good?
default: false','fquestion l0f94f0504fedd7fe l66b02781de95c8fc lf0a2406a9e78f329 oanswered p15b0da4321160527 t79fb43666fe59f42 tacde952405242299 tf34ed02fc3d72833 w2','fs_delete_file','Ada','answered','',6);
INSERT INTO "store_passage" VALUES(3756396427874402488,45,0,43,'e-e9f9e52d6e992ac62f','outcome','2026-10-05 08:36:37.752742','false','foutcome l0f94f0504fedd7fe l66b02781de95c8fc lf0a2406a9e78f329 oanswered p15b0da4321160527 t79fb43666fe59f42 tacde952405242299 tf34ed02fc3d72833 w2','fs_delete_file','Ada','answered','',6);
INSERT INTO "store_passage" VALUES(3756396429264814268,46,0,43,'e-b0be21659bcfa5f020','result','2026-10-05 08:36:38.415311','Kept data/empty.csv.','fresult l0f94f0504fedd7fe l66b02781de95c8fc lf0a2406a9e78f329 t79fb43666fe59f42 tacde952405242299 tf34ed02fc3d72833 w2','fs_delete_file','','','',6);
INSERT INTO "store_passage" VALUES(3756396435394789568,47,0,47,'e-ef10d96947b6651658','message','2026-10-05 08:36:41.338491','Then decline. Declining is **cancelled by the user**: the tool is told, and nothing happens. It differs from answering *no*, which is an answer like any other; both are shown above.

There are more reasons why a question can end without an answer. *A night with nobody at the desk* shows each of them. For many questions at once see *Release 1.4 of the orchard planner*, and for what a page does with malicious text, *What hostile text looks like here*. An archived conversation from an older version is in the archive.','fmessage l0f94f0504fedd7fe l66b02781de95c8fc lf0a2406a9e78f329 w2','','','','',6);
INSERT INTO "store_passage" VALUES(3714593966155366400,-1,0,0,'','title','2026-02-16 15:40:30.700000','Old and odd: written by other versions
project=orchard','ftitle l0f94f0504fedd7fe l66b02781de95c8fc w2','','','','',7);
INSERT INTO "store_passage" VALUES(3714593966396538884,0,0,0,'e-53949eb69cd520707d','person','2026-02-16 15:40:30.815773','Sort the plots by the age of their oldest tree.','fperson l0f94f0504fedd7fe l66b02781de95c8fc w2','','','','',7);
INSERT INTO "store_passage" VALUES(3714593974367813640,1,0,1,'e-cc7525c92057710c24','reasoning','2026-02-16 15:40:34.616788','An old file: no turn was marked in those days.','freasoning l0f94f0504fedd7fe l66b02781de95c8fc w2','','','','',7);
INSERT INTO "store_passage" VALUES(3714593976928436236,2,0,2,'e-62d8e146d221118cb0','call','2026-02-16 15:40:35.837413','fs_modify_file
path: src/orchard/plot.py
patterns: old: sorted(plots)
new: sorted(plots, key=oldest_tree)','fcall l0f94f0504fedd7fe l66b02781de95c8fc t27a4789bc22dbaa2 tacde952405242299 tfe08161ef4abeaec w2','fs_modify_file','','','',7);
INSERT INTO "store_passage" VALUES(3714593977406586896,3,0,2,'e-a8fadfa242315bb95d','question','2026-02-16 15:40:36.065243','Apply the following changes?

```diff
-    return sorted(plots)
+    return sorted(plots, key=lambda p: p.trees)
```
default: true','fquestion l0f94f0504fedd7fe l66b02781de95c8fc oanswered t27a4789bc22dbaa2 tacde952405242299 tfe08161ef4abeaec w2','fs_modify_file','','answered','',7);
INSERT INTO "store_passage" VALUES(3714593996192874516,4,0,2,'e-a7df6636b282711ad6','outcome','2026-02-16 15:40:45.023151','false','foutcome l0f94f0504fedd7fe l66b02781de95c8fc oanswered t27a4789bc22dbaa2 tacde952405242299 tfe08161ef4abeaec w2','fs_modify_file','','answered','',7);
INSERT INTO "store_passage" VALUES(3714593996706676760,5,0,2,'e-2e38a0e5090b0c59b5','question','2026-02-16 15:40:45.268529','Apply the following changes?

```diff
-    return sorted(plots)
+    return sorted(plots, key=oldest_tree)
```
default: true','fquestion l0f94f0504fedd7fe l66b02781de95c8fc oanswered t27a4789bc22dbaa2 tacde952405242299 tfe08161ef4abeaec w2','fs_modify_file','','answered','',7);
INSERT INTO "store_passage" VALUES(3714594014010277916,6,0,2,'e-2dfd78b89fce040d36','outcome','2026-02-16 15:40:53.519825','true','foutcome l0f94f0504fedd7fe l66b02781de95c8fc oanswered t27a4789bc22dbaa2 tacde952405242299 tfe08161ef4abeaec w2','fs_modify_file','','answered','',7);
INSERT INTO "store_passage" VALUES(3714594015534907424,7,0,2,'e-1315b167712692a0ae','result','2026-02-16 15:40:54.246978','Modified src/orchard/plot.py: 1 line changed.','fresult l0f94f0504fedd7fe l66b02781de95c8fc t27a4789bc22dbaa2 tacde952405242299 tfe08161ef4abeaec w2','fs_modify_file','','','',7);
INSERT INTO "store_passage" VALUES(3714594024993062948,8,0,8,'e-93c7d56d22443975e7','message','2026-02-16 15:40:58.756026','Sorted. The two questions above share one id, as older versions wrote them; they are told apart by their order. Their answers do not say who gave them, because nobody noted it then.','fmessage l0f94f0504fedd7fe l66b02781de95c8fc w2','','','','',7);
INSERT INTO "store_passage" VALUES(3714594137884852268,10,0,10,'e-ddc1c4123d9b8b65f6','person','2026-02-16 15:41:52.587678','What does this version make of things it has never heard of?','fperson l0f94f0504fedd7fe l66b02781de95c8fc w2','','','','',7);
INSERT INTO "store_passage" VALUES(3714594143928844344,13,0,13,'e-d8c753bc385a48f164','call','2026-02-16 15:41:55.469849','pollination_check
plot: 3','fcall l0f94f0504fedd7fe l66b02781de95c8fc t0972f2200867d2ff t15532cade7345489 w2','pollination_check','','','',7);
INSERT INTO "store_passage" VALUES(3714594144379732028,14,0,13,'e-a089e10367cd5370d9','question','2026-02-16 15:41:55.684379','Are the bees about?','fquestion l0f94f0504fedd7fe l66b02781de95c8fc ocancelled rd1557a70772a9c76 t0972f2200867d2ff t15532cade7345489 w2','pollination_check','','cancelled','asker_fell_asleep',7);
INSERT INTO "store_passage" VALUES(3714594147496099908,16,0,13,'e-ff55d21a7610f60a3e','failure','2026-02-16 15:41:57.170764','No answer.','ffailure l0f94f0504fedd7fe l66b02781de95c8fc t0972f2200867d2ff t15532cade7345489 w2','pollination_check','','','',7);
INSERT INTO "store_passage" VALUES(3714594155016486984,17,0,17,'e-e6152156fa6b799878','message','2026-02-16 15:42:00.756091','Three things above are strange to this version, and none of them costs you the rest:

1. an event of an **unknown kind** is kept and shown as it came;
2. a **broken** event likewise, with what is wrong about it;
3. an **unknown reason** is shown in its own words.','fmessage l0f94f0504fedd7fe l66b02781de95c8fc w2','','','','',7);
INSERT INTO "store_passage" VALUES(3765114219842764800,-1,0,0,'','title','2026-11-22 11:19:24.900000','All answered','ftitle w2','','','','',8);
INSERT INTO "store_passage" VALUES(3765114219932942344,1,0,1,'e-880666448856f08c20','person','2026-11-22 11:19:24.943434','All answered','fperson pb82648f268c1804a w2','','Owner','','',8);
INSERT INTO "store_passage" VALUES(3765114220002148364,2,0,2,'e-f500031c2b43387ce1','reasoning','2026-11-22 11:19:24.976659','There is nothing to think about: the next line of the script is a question. It goes through the ask_user tool, as it would with a model.','freasoning w2','','','','',8);
INSERT INTO "store_passage" VALUES(3765114220025217040,3,0,3,'e-9a960e1d1eb0d486d3','message','2026-11-22 11:19:24.987099','Hello. **I am a script, not a model**: I say the same things whatever you write. I will ask you four questions, one of them for a secret, and then repeat what reached me. Every question can be declined.
','fmessage w2','','','','',8);
INSERT INTO "store_passage" VALUES(3765114220035702804,4,0,4,'e-e3c56e6d0074087b4c','call','2026-11-22 11:19:24.992527','ask_user
question: Shall I show you how questions work?
answer_type: boolean','fcall t5649605854ac91f2 t74de030776885fae w2','ask_user','','','',8);
INSERT INTO "store_passage" VALUES(3765114220069257240,5,0,4,'e-2659ec73d36996fe3f','question','2026-11-22 11:19:25.008271','Shall I show you how questions work?','fquestion oanswered pb82648f268c1804a t5649605854ac91f2 t74de030776885fae w2','ask_user','Owner','answered','',8);
INSERT INTO "store_passage" VALUES(3765114220935381020,6,0,4,'e-5768a2c1dc7c8f48ba','outcome','2026-11-22 11:19:25.421196','true','foutcome oanswered pb82648f268c1804a t5649605854ac91f2 t74de030776885fae w2','ask_user','Owner','answered','',8);
INSERT INTO "store_passage" VALUES(3765114220947963936,7,0,4,'e-13e26ecd3a3405d3cb','result','2026-11-22 11:19:25.427331','{"answer_type":"boolean","answer":true}','fresult t5649605854ac91f2 t74de030776885fae w2','ask_user','','','',8);
INSERT INTO "store_passage" VALUES(3765114220956352548,8,0,8,'e-889e027d8c79a286a9','call','2026-11-22 11:19:25.431119','ask_user
question: How should the pretend changes be applied?
context: The script pretends to change three files.
A backup would let you go back; nothing is changed in any case.
answer_type: select
options: with a backup
without a backup
not at all','fcall t5649605854ac91f2 t74de030776885fae w2','ask_user','','','',8);
INSERT INTO "store_passage" VALUES(3765114221761658924,10,0,8,'e-5dbe0ee43fd0608707','outcome','2026-11-22 11:19:25.815320','without a backup','foutcome oanswered pb82648f268c1804a t5649605854ac91f2 t74de030776885fae w2','ask_user','Owner','answered','',8);
INSERT INTO "store_passage" VALUES(3765114221780533296,11,0,8,'e-876777a4835045033d','result','2026-11-22 11:19:25.824307','{"answer_type":"select","answer":"without a backup"}','fresult t5649605854ac91f2 t74de030776885fae w2','ask_user','','','',8);
INSERT INTO "store_passage" VALUES(3765114221786824756,12,0,12,'e-315f0ab74caf4b98b7','call','2026-11-22 11:19:25.827496','ask_user
question: What should the pretend report be called?
answer_type: text
default: report.md','fcall t5649605854ac91f2 t74de030776885fae w2','ask_user','','','',8);
INSERT INTO "store_passage" VALUES(3765114220964741160,9,0,8,'e-bc861e172f6c37dcc7','question','2026-11-22 11:19:25.435481','How should the pretend changes be applied?
The script pretends to change three files.
A backup would let you go back; nothing is changed in any case.
with a backup
without a backup
not at all','fquestion oanswered pb82648f268c1804a t5649605854ac91f2 t74de030776885fae w2','ask_user','Owner','answered','',8);
INSERT INTO "store_passage" VALUES(3765114222990590012,14,0,12,'e-4996d519798e1dc5cf','outcome','2026-11-22 11:19:26.401838','a.md','foutcome oanswered pb82648f268c1804a t5649605854ac91f2 t74de030776885fae w2','ask_user','Owner','answered','',8);
INSERT INTO "store_passage" VALUES(3765114222998978624,15,0,12,'e-e9781866646d8a7c2b','result','2026-11-22 11:19:26.405121','{"answer_type":"text","answer":"a.md"}','fresult t5649605854ac91f2 t74de030776885fae w2','ask_user','','','',8);
INSERT INTO "store_passage" VALUES(3765114223005270084,16,0,16,'e-c4f0f31b50a458c59c','call','2026-11-22 11:19:26.408492','demo_vault','fcall t26f6928044a15ff5 t8cf40c6846431c20 w2','demo_vault','','','',8);
INSERT INTO "store_passage" VALUES(3765114221803601976,13,0,12,'e-3a678c9836cbcee42d','question','2026-11-22 11:19:25.835433','What should the pretend report be called?
default: report.md','fquestion oanswered pb82648f268c1804a t5649605854ac91f2 t74de030776885fae w2','ask_user','Owner','answered','',8);
INSERT INTO "store_passage" VALUES(3765114224666214400,-1,0,0,'','title','2026-11-22 11:19:27.200000','All declined','ftitle w2','','','','',9);
INSERT INTO "store_passage" VALUES(3765114224741711880,1,0,1,'e-0627cb493d77defeb6','person','2026-11-22 11:19:27.236648','All declined','fperson pb82648f268c1804a w2','','Owner','','',9);
INSERT INTO "store_passage" VALUES(3765114224787849228,2,0,2,'e-21fec6056c83cde468','reasoning','2026-11-22 11:19:27.258878','There is nothing to think about: the next line of the script is a question. It goes through the ask_user tool, as it would with a model.','freasoning w2','','','','',9);
INSERT INTO "store_passage" VALUES(3765114224794140688,3,0,3,'e-52ed606aefb498da97','message','2026-11-22 11:19:27.261177','Hello. **I am a script, not a model**: I say the same things whatever you write. I will ask you four questions, one of them for a secret, and then repeat what reached me. Every question can be declined.
','fmessage w2','','','','',9);
INSERT INTO "store_passage" VALUES(3765114224798334996,4,0,4,'e-961782fb8c8160a449','call','2026-11-22 11:19:27.263719','ask_user
question: Shall I show you how questions work?
answer_type: boolean','fcall t5649605854ac91f2 t74de030776885fae w2','ask_user','','','',9);
INSERT INTO "store_passage" VALUES(3765114224806723608,5,0,4,'e-8cd346310290ea94e2','question','2026-11-22 11:19:27.267627','Shall I show you how questions work?','fquestion ocancelled pb82648f268c1804a rafdf5c9a7bd48d63 t5649605854ac91f2 t74de030776885fae w2','ask_user','Owner','cancelled','user',9);
INSERT INTO "store_passage" VALUES(3765114225135976480,7,0,4,'e-bcf7bd74b474a21ca0','result','2026-11-22 11:19:27.424995','Tool input cancelled by user.','fresult t5649605854ac91f2 t74de030776885fae w2','ask_user','','','',9);
INSERT INTO "store_passage" VALUES(3765114225142267940,8,0,8,'e-10830b71c3cd6bc9e3','call','2026-11-22 11:19:27.427183','ask_user
question: How should the pretend changes be applied?
context: The script pretends to change three files.
A backup would let you go back; nothing is changed in any case.
answer_type: select
options: with a backup
without a backup
not at all','fcall t5649605854ac91f2 t74de030776885fae w2','ask_user','','','',9);
INSERT INTO "store_passage" VALUES(3765114225184210984,9,0,8,'e-4d59d7eed729864150','question','2026-11-22 11:19:27.447205','How should the pretend changes be applied?
The script pretends to change three files.
A backup would let you go back; nothing is changed in any case.
with a backup
without a backup
not at all','fquestion ocancelled pb82648f268c1804a rafdf5c9a7bd48d63 t5649605854ac91f2 t74de030776885fae w2','ask_user','Owner','cancelled','user',9);
INSERT INTO "store_passage" VALUES(3765114225769316400,11,0,8,'e-102d9dde3d467aea2e','result','2026-11-22 11:19:27.726977','Tool input cancelled by user.','fresult t5649605854ac91f2 t74de030776885fae w2','ask_user','','','',9);
INSERT INTO "store_passage" VALUES(3765114225794482228,12,0,12,'e-bd574d00095c93adf3','call','2026-11-22 11:19:27.738892','ask_user
question: What should the pretend report be called?
answer_type: text
default: report.md','fcall t5649605854ac91f2 t74de030776885fae w2','ask_user','','','',9);
INSERT INTO "store_passage" VALUES(3765114224292921424,19,0,16,'e-9fadadbeee97038268','result','2026-11-22 11:19:27.022441','The demonstration vault is open.','fresult t26f6928044a15ff5 t8cf40c6846431c20 w2','demo_vault','','','',8);
INSERT INTO "store_passage" VALUES(3765114224309698644,20,0,20,'e-2c095c463fb82ba72b','message','2026-11-22 11:19:27.030243','That was the script. What reached me:

- **yes or no**: `true` (boolean)
- **one of three**: `"without a backup"` (string)
- **free text**: `"a.md"` (string)
- **secret**: received, not shown
','fmessage w2','','','','',8);
INSERT INTO "store_passage" VALUES(3765114223015755848,17,0,16,'e-fb26be4b4161c1fd16','question','2026-11-22 11:19:26.413369','What is the passphrase of the vault?
This is a demonstration. Any passphrase opens it: do not type a real one.','fquestion oredacted pb82648f268c1804a t26f6928044a15ff5 t8cf40c6846431c20 w2','demo_vault','Owner','redacted','',8);
INSERT INTO "store_passage" VALUES(3765114226478153788,14,0,12,'e-9567cf24506505e61a','outcome','2026-11-22 11:19:28.064172','Not today','foutcome ocancelled pb82648f268c1804a rafdf5c9a7bd48d63 t5649605854ac91f2 t74de030776885fae w2','ask_user','Owner','cancelled','user',9);
INSERT INTO "store_passage" VALUES(3765114226492833856,15,0,12,'e-51ee4e327be8ea2e12','result','2026-11-22 11:19:28.071284','Tool input cancelled by user: Not today','fresult t5649605854ac91f2 t74de030776885fae w2','ask_user','','','',9);
INSERT INTO "store_passage" VALUES(3765114226517999684,16,0,16,'e-29b3f95bf0df9f2b6f','call','2026-11-22 11:19:28.083289','demo_vault','fcall t26f6928044a15ff5 t8cf40c6846431c20 w2','demo_vault','','','',9);
INSERT INTO "store_passage" VALUES(3765114225838522424,13,0,12,'e-d24971da2a81b48d25','question','2026-11-22 11:19:27.759101','What should the pretend report be called?
default: report.md','fquestion ocancelled pb82648f268c1804a rafdf5c9a7bd48d63 t5649605854ac91f2 t74de030776885fae w2','ask_user','Owner','cancelled','user',9);
INSERT INTO "store_passage" VALUES(3765114228021657600,-1,0,0,'','title','2026-11-22 11:19:28.800000','Stopped','ftitle w2','','','','',10);
INSERT INTO "store_passage" VALUES(3765114228160069640,1,0,1,'e-ce8c8dc64d991e0012','person','2026-11-22 11:19:28.866262','Stopped','fperson pb82648f268c1804a w2','','Owner','','',10);
INSERT INTO "store_passage" VALUES(3765114228214595596,2,0,2,'e-691168b43916a8b031','reasoning','2026-11-22 11:19:28.892315','There is nothing to think about: the next line of the script is a question. It goes through the ask_user tool, as it would with a model.','freasoning w2','','','','',10);
INSERT INTO "store_passage" VALUES(3765114228260732944,3,0,3,'e-5bebb9a28484eda289','message','2026-11-22 11:19:28.914339','Hello. **I am a script, not a model**: I say the same things whatever you write. I will ask you four questions, one of them for a secret, and then repeat what reached me. Every question can be declined.
','fmessage w2','','','','',10);
INSERT INTO "store_passage" VALUES(3765114228300578836,4,0,4,'e-d161d9b71f371e3daa','call','2026-11-22 11:19:28.933386','ask_user
question: Shall I show you how questions work?
answer_type: boolean','fcall t5649605854ac91f2 t74de030776885fae w2','ask_user','','','',10);
INSERT INTO "store_passage" VALUES(3765114227363151952,19,0,16,'e-e8b22a3ab162e5d658','result','2026-11-22 11:19:28.486136','Tool input cancelled by user.','fresult t26f6928044a15ff5 t8cf40c6846431c20 w2','demo_vault','','','',9);
INSERT INTO "store_passage" VALUES(3765114226528485448,17,0,16,'e-e9fa9e977abcd0c7c5','question','2026-11-22 11:19:28.088735','What is the passphrase of the vault?
This is a demonstration. Any passphrase opens it: do not type a real one.','fquestion ocancelled pb82648f268c1804a rafdf5c9a7bd48d63 t26f6928044a15ff5 t8cf40c6846431c20 w2','demo_vault','Owner','cancelled','user',9);
INSERT INTO "store_passage" VALUES(3765114229279948800,-1,0,0,'','title','2026-11-22 11:19:29.400000','Waiting','ftitle w2','','','','',11);
INSERT INTO "store_passage" VALUES(3765114229395292168,1,0,1,'e-bfd9b4ba383743dc79','person','2026-11-22 11:19:29.455077','Waiting','fperson pb82648f268c1804a w2','','Owner','','',11);
INSERT INTO "store_passage" VALUES(3765114229443526668,2,0,2,'e-4b860f866ade6ab0d4','reasoning','2026-11-22 11:19:29.478736','There is nothing to think about: the next line of the script is a question. It goes through the ask_user tool, as it would with a model.','freasoning w2','','','','',11);
INSERT INTO "store_passage" VALUES(3765114229449818128,3,0,3,'e-29187e78f66baf550d','message','2026-11-22 11:19:29.481192','Hello. **I am a script, not a model**: I say the same things whatever you write. I will ask you four questions, one of them for a secret, and then repeat what reached me. Every question can be declined.
','fmessage w2','','','','',11);
INSERT INTO "store_passage" VALUES(3765114229456109588,4,0,4,'e-37c7ad997994bb7d14','call','2026-11-22 11:19:29.484225','ask_user
question: Shall I show you how questions work?
answer_type: boolean','fcall t5649605854ac91f2 t74de030776885fae w2','ask_user','','','',11);
INSERT INTO "store_passage" VALUES(3765114229464498200,5,0,4,'e-049de4bd066c473ae4','question','2026-11-22 11:19:29.488527','Shall I show you how questions work?','fquestion oanswered pb82648f268c1804a t5649605854ac91f2 t74de030776885fae w2','ask_user','Owner','answered','',11);
INSERT INTO "store_passage" VALUES(3765114230208987164,6,0,4,'e-0df756f694f725c933','outcome','2026-11-22 11:19:29.843594','false','foutcome oanswered pb82648f268c1804a t5649605854ac91f2 t74de030776885fae w2','ask_user','Owner','answered','',11);
INSERT INTO "store_passage" VALUES(3765114230217375776,7,0,4,'e-7962668cd55021e126','result','2026-11-22 11:19:29.847953','{"answer_type":"boolean","answer":false}','fresult t5649605854ac91f2 t74de030776885fae w2','ask_user','','','',11);
INSERT INTO "store_passage" VALUES(3765114230242541604,8,0,8,'e-fd753410a3aac2b794','call','2026-11-22 11:19:29.859660','ask_user
question: How should the pretend changes be applied?
context: The script pretends to change three files.
A backup would let you go back; nothing is changed in any case.
answer_type: select
options: with a backup
without a backup
not at all','fcall t5649605854ac91f2 t74de030776885fae w2','ask_user','','','',11);
INSERT INTO "store_passage" VALUES(3765114230334816296,9,0,8,'e-b576530693595a5bc6','question','2026-11-22 11:19:29.903233','How should the pretend changes be applied?
The script pretends to change three files.
A backup would let you go back; nothing is changed in any case.
with a backup
without a backup
not at all','fquestion oopen t5649605854ac91f2 t74de030776885fae w2','ask_user','','open','',11);
INSERT INTO "store_passage" VALUES(3765114228910850080,7,0,4,'e-ece28327a87ff7ddb1','result','2026-11-22 11:19:29.224302','The user stopped this tool call on purpose, before it had a result. Do not repeat it as it was; find out from the user what they want instead.','fresult t5649605854ac91f2 t74de030776885fae w2','ask_user','','','',10);
INSERT INTO "store_passage" VALUES(3765114228376076312,5,0,4,'e-cb2926531ac895528b','question','2026-11-22 11:19:28.969717','Shall I show you how questions work?','fquestion ocancelled pb82648f268c1804a rafdf5c9a7bd48d63 t5649605854ac91f2 t74de030776885fae w2','ask_user','Owner','cancelled','user',10);
CREATE TABLE "store_person" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "password" varchar(128) NOT NULL, "last_login" datetime NULL, "is_superuser" bool NOT NULL, "username" varchar(150) NOT NULL UNIQUE, "first_name" varchar(150) NOT NULL, "last_name" varchar(150) NOT NULL, "email" varchar(254) NOT NULL, "is_staff" bool NOT NULL, "is_active" bool NOT NULL, "date_joined" datetime NOT NULL);
INSERT INTO "store_person" VALUES(1,'','2026-11-22 11:19:24.329680',0,'owner','Owner','','',0,1,'2026-11-22 11:19:23.673480');
INSERT INTO "store_person" VALUES(2,'',NULL,0,'Ada','Ada','','',0,1,'2026-11-22 11:19:24.822402');
CREATE TABLE "store_person_groups" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "person_id" bigint NOT NULL REFERENCES "store_person" ("id") DEFERRABLE INITIALLY DEFERRED, "group_id" integer NOT NULL REFERENCES "auth_group" ("id") DEFERRABLE INITIALLY DEFERRED);
CREATE TABLE "store_person_user_permissions" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "person_id" bigint NOT NULL REFERENCES "store_person" ("id") DEFERRABLE INITIALLY DEFERRED, "permission_id" integer NOT NULL REFERENCES "auth_permission" ("id") DEFERRABLE INITIALLY DEFERRED);
CREATE TABLE "store_presence" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "process" varchar(150) NOT NULL, "seen_at" datetime NOT NULL, "person_id" bigint NOT NULL REFERENCES "store_person" ("id") DEFERRABLE INITIALLY DEFERRED, "workspace_id" bigint NOT NULL REFERENCES "store_workspace" ("id") DEFERRABLE INITIALLY DEFERRED, CONSTRAINT "one_presence_a_process" UNIQUE ("workspace_id", "person_id", "process"));
CREATE TABLE "store_prompt" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "kind" varchar(10) NOT NULL, "tool_call_id" text NOT NULL, "tool_name" varchar(200) NOT NULL, "shown" text NOT NULL CHECK ((JSON_VALID("shown") OR "shown" IS NULL)), "state" varchar(10) NOT NULL, "decision" text NULL CHECK ((JSON_VALID("decision") OR "decision" IS NULL)), "decider_name" varchar(200) NOT NULL, "asked_at" datetime NOT NULL, "settled_at" datetime NULL, "conversation_id" bigint NOT NULL REFERENCES "store_conversation" ("id") DEFERRABLE INITIALLY DEFERRED, "decider_id" bigint NULL REFERENCES "store_person" ("id") DEFERRABLE INITIALLY DEFERRED, "run_id" bigint NOT NULL REFERENCES "store_run" ("id") DEFERRABLE INITIALLY DEFERRED, "digest" varchar(64) NOT NULL, "spent" bool NOT NULL, "workspace_id" bigint NULL REFERENCES "store_workspace" ("id") DEFERRABLE INITIALLY DEFERRED);
CREATE TABLE "store_reading" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "length" integer unsigned NOT NULL CHECK ("length" >= 0), "at" datetime NOT NULL, "conversation_id" bigint NOT NULL REFERENCES "store_conversation" ("id") DEFERRABLE INITIALLY DEFERRED, "person_id" bigint NOT NULL REFERENCES "store_person" ("id") DEFERRABLE INITIALLY DEFERRED, CONSTRAINT "one_reading_a_person" UNIQUE ("person_id", "conversation_id"));
INSERT INTO "store_reading" VALUES(1,21,'2026-11-22 11:19:27.046458',8,1);
INSERT INTO "store_reading" VALUES(7,20,'2026-11-22 11:19:28.621019',9,1);
INSERT INTO "store_reading" VALUES(16,8,'2026-11-22 11:19:29.267916',10,1);
INSERT INTO "store_reading" VALUES(19,10,'2026-11-22 11:19:29.992282',11,1);
CREATE TABLE "store_run" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "provider" varchar(50) NOT NULL, "holder" varchar(150) NOT NULL, "problem" varchar(1000) NOT NULL, "started_at" datetime NOT NULL, "ended_at" datetime NULL, "conversation_id" bigint NOT NULL REFERENCES "store_conversation" ("id") DEFERRABLE INITIALLY DEFERRED, "started_by_id" bigint NULL REFERENCES "store_person" ("id") DEFERRABLE INITIALLY DEFERRED, "failure" varchar(20) NOT NULL, "resumed" smallint unsigned NOT NULL CHECK ("resumed" >= 0), "model" varchar(200) NOT NULL, "deaths" smallint unsigned NOT NULL CHECK ("deaths" >= 0), "fence" integer unsigned NOT NULL CHECK ("fence" >= 0), "lease_until" datetime NULL, "phase" varchar(10) NOT NULL, "queued_at" datetime NULL, "state" varchar(10) NOT NULL);
INSERT INTO "store_run" VALUES(1,'scripted','','','2026-11-22 11:19:24.950524','2026-11-22 11:19:27.033136',8,1,'',0,'script',0,1,NULL,'over',NULL,'done');
INSERT INTO "store_run" VALUES(2,'scripted','','jpweb failed inside: JSONDecodeError','2026-11-22 11:19:27.240336','2026-11-22 11:19:28.559827',9,1,'',0,'script',0,1,NULL,'replying',NULL,'failed');
INSERT INTO "store_run" VALUES(3,'scripted','','','2026-11-22 11:19:28.871786','2026-11-22 11:19:29.248048',10,1,'',0,'script',0,1,NULL,'replying',NULL,'stopped');
INSERT INTO "store_run" VALUES(4,'scripted','','','2026-11-22 11:19:29.459318',NULL,11,1,'',1,'script',0,1,NULL,'calling','2026-11-22 11:19:30.145','queued');
CREATE TABLE "store_savedsearch" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "name" varchar(80) NOT NULL, "query" varchar(2000) NOT NULL, "made_at" datetime NOT NULL, "person_id" bigint NOT NULL REFERENCES "store_person" ("id") DEFERRABLE INITIALLY DEFERRED, CONSTRAINT "one_search_a_name" UNIQUE ("person_id", "name"));
CREATE TABLE "store_showing" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "delivered_at" datetime NOT NULL, "visible_at" datetime NULL, "focused_at" datetime NULL, "draft_at" datetime NULL, "inquiry_id" bigint NOT NULL REFERENCES "store_inquiry" ("id") DEFERRABLE INITIALLY DEFERRED, "person_id" bigint NOT NULL REFERENCES "store_person" ("id") DEFERRABLE INITIALLY DEFERRED, CONSTRAINT "one_showing_a_person" UNIQUE ("inquiry_id", "person_id"));
INSERT INTO "store_showing" VALUES(1,'2026-11-22 11:19:25.145755',NULL,NULL,NULL,43,1);
INSERT INTO "store_showing" VALUES(2,'2026-11-22 11:19:25.489039',NULL,NULL,NULL,44,1);
INSERT INTO "store_showing" VALUES(3,'2026-11-22 11:19:25.883684',NULL,NULL,NULL,45,1);
INSERT INTO "store_showing" VALUES(4,'2026-11-22 11:19:26.480773',NULL,NULL,NULL,46,1);
INSERT INTO "store_showing" VALUES(5,'2026-11-22 11:19:27.300132',NULL,NULL,NULL,47,1);
INSERT INTO "store_showing" VALUES(6,'2026-11-22 11:19:27.545912',NULL,NULL,NULL,48,1);
INSERT INTO "store_showing" VALUES(7,'2026-11-22 11:19:27.844888',NULL,NULL,NULL,49,1);
INSERT INTO "store_showing" VALUES(8,'2026-11-22 11:19:28.117963',NULL,NULL,NULL,50,1);
INSERT INTO "store_showing" VALUES(9,'2026-11-22 11:19:28.999962',NULL,NULL,NULL,51,1);
INSERT INTO "store_showing" VALUES(10,'2026-11-22 11:19:29.554629',NULL,NULL,NULL,52,1);
INSERT INTO "store_showing" VALUES(11,'2026-11-22 11:19:29.981782',NULL,NULL,NULL,53,1);
CREATE TABLE "store_signinlink" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "token_hash" varchar(64) NOT NULL UNIQUE, "created_at" datetime NOT NULL, "expires_at" datetime NOT NULL, "used_at" datetime NULL, "person_id" bigint NOT NULL REFERENCES "store_person" ("id") DEFERRABLE INITIALLY DEFERRED);
CREATE TABLE "store_trust" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "kind" varchar(10) NOT NULL, "name" varchar(200) NOT NULL, "fingerprint" varchar(64) NOT NULL, "shown" text NOT NULL, "trusted_at" datetime NOT NULL, "trusted_by_id" bigint NULL REFERENCES "store_person" ("id") DEFERRABLE INITIALLY DEFERRED, "workspace_id" bigint NOT NULL REFERENCES "store_workspace" ("id") DEFERRABLE INITIALLY DEFERRED, CONSTRAINT "one_trust_a_thing" UNIQUE ("workspace_id", "kind", "name"));
CREATE TABLE "store_turn" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "number" integer unsigned NOT NULL CHECK ("number" >= 0), "position" integer unsigned NOT NULL CHECK ("position" >= 0), "words" varchar(200) NOT NULL, "conversation_id" bigint NOT NULL REFERENCES "store_conversation" ("id") DEFERRABLE INITIALLY DEFERRED, CONSTRAINT "one_turn_a_number" UNIQUE ("conversation_id", "number"), CONSTRAINT "one_turn_a_place" UNIQUE ("conversation_id", "position"));
INSERT INTO "store_turn" VALUES(17,0,0,'I am new here. What am I looking at?',6);
INSERT INTO "store_turn" VALUES(18,1,3,'Let a tree have a nickname. Change the model first, please.',6);
INSERT INTO "store_turn" VALUES(19,2,11,'Now decide with me how old data gets the new field. Ask me whatever you need.',6);
INSERT INTO "store_turn" VALUES(20,3,26,'What if I type nonsense?',6);
INSERT INTO "store_turn" VALUES(21,4,37,'And if I just do not want to answer?',6);
INSERT INTO "store_turn" VALUES(22,0,0,'Sort the plots by the age of their oldest tree.',7);
INSERT INTO "store_turn" VALUES(23,1,9,'What does this version make of things it has never heard of?',7);
INSERT INTO "store_turn" VALUES(24,0,0,'All answered',8);
INSERT INTO "store_turn" VALUES(25,0,0,'All declined',9);
INSERT INTO "store_turn" VALUES(26,0,0,'Stopped',10);
INSERT INTO "store_turn" VALUES(27,0,0,'Waiting',11);
CREATE TABLE "store_workspace" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "jp_id" varchar(16) NOT NULL, "name" varchar(200) NOT NULL, "root" varchar(4096) NOT NULL UNIQUE, "writing" varchar(10) NOT NULL, "added_at" datetime NOT NULL, "overrides" text NOT NULL, "expires_after" integer unsigned NULL CHECK ("expires_after" >= 0));
INSERT INTO "store_workspace" VALUES(2,'orchd','Orchard','/srv/orchard','off','2026-11-22 11:19:23.730416','',NULL);
CREATE UNIQUE INDEX "django_content_type_app_label_model_76bd3d3b_uniq" ON "django_content_type" ("app_label", "model");
CREATE UNIQUE INDEX "auth_group_permissions_group_id_permission_id_0cd325b0_uniq" ON "auth_group_permissions" ("group_id", "permission_id");
CREATE INDEX "auth_group_permissions_group_id_b120cbf9" ON "auth_group_permissions" ("group_id");
CREATE INDEX "auth_group_permissions_permission_id_84c5c92e" ON "auth_group_permissions" ("permission_id");
CREATE UNIQUE INDEX "auth_permission_content_type_id_codename_01ab375a_uniq" ON "auth_permission" ("content_type_id", "codename");
CREATE INDEX "auth_permission_content_type_id_2f476e4b" ON "auth_permission" ("content_type_id");
CREATE INDEX "django_session_expire_date_a5c62663" ON "django_session" ("expire_date");
CREATE UNIQUE INDEX "store_person_groups_person_id_group_id_6af8f131_uniq" ON "store_person_groups" ("person_id", "group_id");
CREATE INDEX "store_person_groups_person_id_a15b5abf" ON "store_person_groups" ("person_id");
CREATE INDEX "store_person_groups_group_id_24d8b58b" ON "store_person_groups" ("group_id");
CREATE UNIQUE INDEX "store_person_user_permissions_person_id_permission_id_9fca3323_uniq" ON "store_person_user_permissions" ("person_id", "permission_id");
CREATE INDEX "store_person_user_permissions_person_id_e28d8739" ON "store_person_user_permissions" ("person_id");
CREATE INDEX "store_person_user_permissions_permission_id_aed961f9" ON "store_person_user_permissions" ("permission_id");
CREATE INDEX "store_signinlink_person_id_7f804238" ON "store_signinlink" ("person_id");
CREATE INDEX "store_membership_person_id_e93d0e46" ON "store_membership" ("person_id");
CREATE INDEX "store_membership_workspace_id_829192fa" ON "store_membership" ("workspace_id");
CREATE INDEX "store_trust_trusted_by_id_b866d5da" ON "store_trust" ("trusted_by_id");
CREATE INDEX "store_trust_workspace_id_9052649f" ON "store_trust" ("workspace_id");
CREATE INDEX "store_inquiry_conversation_id_7d7f478d" ON "store_inquiry" ("conversation_id");
CREATE INDEX "store_inquiry_decider_id_ca847c6d" ON "store_inquiry" ("decider_id");
CREATE INDEX "store_inquiry_run_id_967473f9" ON "store_inquiry" ("run_id");
CREATE INDEX "store_inqui_asked_a_a2765d_idx" ON "store_inquiry" ("asked_at" DESC, "id" DESC);
CREATE INDEX "store_inqui_state_23d54b_idx" ON "store_inquiry" ("state", "conversation_id");
CREATE INDEX "store_prompt_conversation_id_810e3cf1" ON "store_prompt" ("conversation_id");
CREATE INDEX "store_prompt_decider_id_03905596" ON "store_prompt" ("decider_id");
CREATE INDEX "store_prompt_run_id_31180921" ON "store_prompt" ("run_id");
CREATE INDEX "store_promp_state_a27194_idx" ON "store_prompt" ("state", "conversation_id");
CREATE INDEX "store_run_conversation_id_eee2378c" ON "store_run" ("conversation_id");
CREATE INDEX "store_run_started_by_id_80bee403" ON "store_run" ("started_by_id");
CREATE INDEX "store_inqui_alike_8528b6_idx" ON "store_inquiry" ("alike", "settled_at" DESC);
CREATE INDEX "store_inqui_workspa_1e70b3_idx" ON "store_inquiry" ("workspace_id", "state", "asked_at");
CREATE INDEX "questions_to_expire" ON "store_inquiry" ("state", "expires_at") WHERE "expires_at" IS NOT NULL;
CREATE INDEX "store_promp_workspa_c445a1_idx" ON "store_prompt" ("workspace_id", "state", "asked_at");
CREATE INDEX "store_run_state_930b17_idx" ON "store_run" ("state", "lease_until");
CREATE INDEX "store_run_convers_84c781_idx" ON "store_run" ("conversation_id", "id" DESC);
CREATE UNIQUE INDEX "one_run_a_conversation" ON "store_run" ("conversation_id") WHERE "state" IN ('queued', 'running', 'parked');
CREATE INDEX "store_address_person_id_a3ae110b" ON "store_address" ("person_id");
CREATE INDEX "store_address_workspace_id_10e39172" ON "store_address" ("workspace_id");
CREATE INDEX "store_answerlink_inquiry_id_0fdb7f7d" ON "store_answerlink" ("inquiry_id");
CREATE INDEX "store_answerlink_person_id_71bb1b01" ON "store_answerlink" ("person_id");
CREATE INDEX "store_interruption_person_id_b394b9c7" ON "store_interruption" ("person_id");
CREATE INDEX "store_interruption_run_id_9526b72c" ON "store_interruption" ("run_id");
CREATE INDEX "store_keptresult_run_id_4166a326" ON "store_keptresult" ("run_id");
CREATE INDEX "store_notice_address_id_8dd005dd" ON "store_notice" ("address_id");
CREATE INDEX "store_notice_inquiry_id_520430b6" ON "store_notice" ("inquiry_id");
CREATE INDEX "store_notice_prompt_id_c8831b8a" ON "store_notice" ("prompt_id");
CREATE INDEX "store_presence_person_id_5e3db8f3" ON "store_presence" ("person_id");
CREATE INDEX "store_presence_workspace_id_46650a89" ON "store_presence" ("workspace_id");
CREATE INDEX "store_prese_workspa_6802dc_idx" ON "store_presence" ("workspace_id", "seen_at");
CREATE INDEX "store_showing_inquiry_id_c535a3b5" ON "store_showing" ("inquiry_id");
CREATE INDEX "store_showing_person_id_ef201dc3" ON "store_showing" ("person_id");
CREATE INDEX "store_conversation_started_by_id_d7463d47" ON "store_conversation" ("started_by_id");
CREATE INDEX "store_conversation_workspace_id_032420ee" ON "store_conversation" ("workspace_id");
CREATE INDEX "store_journalentry_conversation_id_b0bbe01f" ON "store_journalentry" ("conversation_id");
CREATE INDEX "store_journ_convers_386c76_idx" ON "store_journalentry" ("conversation_id", "anchor");
CREATE INDEX "conversations_to_index" ON "store_conversation" ("last_activity", "id") WHERE "unindexed";
CREATE INDEX "journal_by_head" ON "store_journalentry" ("conversation_id", "head");
CREATE INDEX "journal_by_facet" ON "store_journalentry" ("conversation_id", "facet", "head");
CREATE INDEX "store_reading_conversation_id_7805bab5" ON "store_reading" ("conversation_id");
CREATE INDEX "store_reading_person_id_fa1cb7f7" ON "store_reading" ("person_id");
CREATE INDEX "store_turn_conversation_id_77436f23" ON "store_turn" ("conversation_id");
CREATE INDEX "conversations_by_activity" ON "store_conversation" ("workspace_id", "archived", "last_activity", "id");
CREATE INDEX "conversations_by_origin" ON "store_conversation" ("workspace_id", "origin", "archived", "last_activity", "id");
CREATE INDEX "conversations_by_length" ON "store_conversation" ("workspace_id", "archived", "length", "id");
CREATE INDEX "conversations_pinned" ON "store_conversation" ("workspace_id", "archived", "pinned_at", "id") WHERE "pinned_at" IS NOT NULL;
CREATE INDEX "conversations_with_problems" ON "store_conversation" ("workspace_id", "archived", "last_activity", "id") WHERE NOT ("problem" = '');
CREATE INDEX "readings_by_time" ON "store_reading" ("person_id", "at");
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('django_migrations',21);
INSERT INTO "sqlite_sequence" VALUES('django_content_type',26);
INSERT INTO "sqlite_sequence" VALUES('auth_permission',104);
INSERT INTO "sqlite_sequence" VALUES('auth_group',0);
INSERT INTO "sqlite_sequence" VALUES('store_membership',3);
INSERT INTO "sqlite_sequence" VALUES('store_workspace',2);
INSERT INTO "sqlite_sequence" VALUES('store_inquiry',53);
INSERT INTO "sqlite_sequence" VALUES('store_prompt',0);
INSERT INTO "sqlite_sequence" VALUES('store_run',4);
INSERT INTO "sqlite_sequence" VALUES('store_address',0);
INSERT INTO "sqlite_sequence" VALUES('store_answerlink',0);
INSERT INTO "sqlite_sequence" VALUES('store_interruption',1);
INSERT INTO "sqlite_sequence" VALUES('store_keptresult',0);
INSERT INTO "sqlite_sequence" VALUES('store_notice',0);
INSERT INTO "sqlite_sequence" VALUES('store_presence',0);
INSERT INTO "sqlite_sequence" VALUES('store_showing',11);
INSERT INTO "sqlite_sequence" VALUES('store_conversation',11);
INSERT INTO "sqlite_sequence" VALUES('store_journalentry',290);
INSERT INTO "sqlite_sequence" VALUES('store_reading',22);
INSERT INTO "sqlite_sequence" VALUES('store_turn',27);
INSERT INTO "sqlite_sequence" VALUES('store_savedsearch',0);
INSERT INTO "sqlite_sequence" VALUES('store_person',2);
INSERT INTO "sqlite_sequence" VALUES('store_signinlink',2);
INSERT INTO "sqlite_sequence" VALUES('store_duty',6);
COMMIT;
CREATE VIRTUAL TABLE store_passage_words USING fts5(body, tags, content='store_passage', content_rowid='id', tokenize="unicode61 tokenchars '_'");
INSERT INTO store_passage_words(store_passage_words, rank) VALUES ('rank', 'bm25(1.0, 0.0)');
INSERT INTO store_passage_words(store_passage_words) VALUES ('rebuild');
CREATE TRIGGER store_passage_added AFTER INSERT ON store_passage BEGIN INSERT INTO store_passage_words(rowid, body, tags) VALUES (new.id, new.body, new.tags); END;
CREATE TRIGGER store_passage_removed AFTER DELETE ON store_passage BEGIN INSERT INTO store_passage_words(store_passage_words, rowid, body, tags) VALUES ('delete', old.id, old.body, old.tags); END;
CREATE TRIGGER store_passage_changed AFTER UPDATE OF id, body, tags ON store_passage BEGIN INSERT INTO store_passage_words(store_passage_words, rowid, body, tags) VALUES ('delete', old.id, old.body, old.tags); INSERT INTO store_passage_words(rowid, body, tags) VALUES (new.id, new.body, new.tags); END;
