import type { CommandCall } from './call.ts'
import { type CommandEntry, type CommandOption, slug, TENANT } from './command.ts'
import { OPERATOR_COMMANDS } from './operator/commands.ts'
import { SERVER_OPTIONS } from './operator/server.ts'

const PERSON: readonly CommandOption[] = [
  { flags: '--address <text>', description: 'a telephone number, an email, a device token or a user id' },
  { flags: '--contact <id>', description: 'a contact, in place of an address' },
]

const serveParts = (api: boolean, worker: boolean) => async (call: CommandCall) =>
  (await import('./serve.ts')).runServer(call, { api, worker })

/** Every command, in the order of the help. An entry that runs nothing is the group of those that follow. */
export const COMMANDS: readonly CommandEntry[] = [
  {
    name: 'start',
    description: 'Run API and worker in one process.',
    parts: ['any', 'server', 'api', 'worker'],
    isServer: true,
    help: `
Examples:
  $ pillarbox start                              SQLite and sandbox providers, on port 4400
  $ pillarbox start --port 8080 --no-demo
  $ DATABASE_URL=postgres://app@db/app pillarbox start`,
    run: serveParts(true, true),
  },
  {
    name: 'api',
    description: 'Run the HTTP API only; workers run elsewhere.',
    parts: ['any', 'server', 'api'],
    isServer: true,
    help: `
Examples:
  $ DATABASE_URL=postgres://app@db/app pillarbox api --host 0.0.0.0
  $ pillarbox api --config /etc/pillarbox.yaml`,
    run: serveParts(true, false),
  },
  {
    name: 'worker',
    description: 'Run a worker only: plan events and send notifications.',
    parts: ['any', 'server', 'worker'],
    isServer: true,
    help: `
Examples:
  $ DATABASE_URL=postgres://app@db/app pillarbox worker
  $ pillarbox worker --channels sms,whatsapp --concurrency 64`,
    run: serveParts(false, true),
  },
  {
    name: 'site',
    description:
      'Run a site agent: keep what scripts on this machine send, and hand it off whenever the server can be reached.',
    options: [
      { flags: '--central <url>', description: 'where the server is [PILLARBOX_CENTRAL]' },
      { flags: '--site <name>', description: 'the name of this site [PILLARBOX_SITE]' },
      {
        flags: '--key <key>',
        description:
          'a publisher’s key, bound to the site; better in [PILLARBOX_KEY], or in the file that [PILLARBOX_KEY_FILE] names',
      },
      {
        flags: '--port <number>',
        description: 'port of the local API, on 127.0.0.1 [PILLARBOX_SITE_PORT, default 4401]',
      },
      { flags: '--data-dir <folder>', description: 'folder of the buffer [PILLARBOX_DATA_DIR, default ./.pillarbox]' },
      {
        flags: '--max-items <number>',
        description: 'how many notifications may wait [PILLARBOX_SITE_MAX_ITEMS, default 1000000]',
      },
      {
        flags: '--max-bytes <number>',
        description: 'how large they may be [PILLARBOX_SITE_MAX_BYTES, default 1073741824]',
      },
    ],
    isServer: true,
    help: `
Scripts in any language send with POST /notifications on 127.0.0.1 and are answered once it is on the disk. It is handed off in
order until the server acknowledges it, for weeks if need be. GET /notifications/{id}/status and GET /health say where things
stand. Needs no database.

Examples:
  $ PILLARBOX_KEY=… pillarbox site --central https://pillarbox.example.com --site plant-1
  $ curl -d '{"list": "operators", "subject": "Pump 3", "body": "stopped"}' -H 'content-type: application/json' localhost:4401/notifications`,
    run: async (call) => (await import('./site.ts')).runSite(call),
  },
  {
    name: 'migrate',
    description: 'Bring the database schema up to date.',
    options: [{ flags: '--check', description: 'change nothing; exit 1 if the schema is not up to date' }],
    parts: ['any'],
    help: `
Examples:
  $ DATABASE_URL=postgres://owner@db/app pillarbox migrate
  $ pillarbox migrate --check        in a pipeline, before a rollout`,
    run: async (call) => (await import('./migrate.ts')).migrate(call),
  },
  {
    name: 'backup',
    description: 'Copy the SQLite database to a file, while servers go on using it.',
    argument: ['<file>', 'where to; must not exist'],
    parts: ['any'],
    help: `
The copy is the database as it was when the command began, and only its owner may read it. The master key is not in it, on
purpose: keep that elsewhere, for without it nothing that is sealed can be opened. To restore, stop every server, put the copy
in the place of the database, and start them. For PostgreSQL use pg_dump or pg_basebackup. docs/runbook has all of it.

Examples:
  $ pillarbox backup /backups/pillarbox-monday.db
  $ pillarbox backup copy.db --data-dir /var/lib/pillarbox`,
    run: async (call) => (await import('./backup.ts')).backUp(call),
  },
  {
    name: 'doctor',
    description: 'Name what is wrong with this installation, and how to mend it.',
    options: [
      { flags: '--json', description: 'one JSON object a line' },
      { flags: '--strict', description: 'exit 1 for what is doubtful, too' },
    ],
    parts: ['any', 'api', 'worker'],
    help: `
Looks at what a start needs (settings, folders, keys, the database, its schema and clock, the port), at what keeps work from
being done (silent workers, open breakers, paused accounts, a backlog) and at what goes wrong slowly (full disks, what blocks
vacuum, secrets that others can read, retention that does not run). Each line begins with ok, warn or fail, and says what to do.
Nothing is changed. Exit code 1 where something is out of order (fail).

Examples:
  $ pillarbox doctor
  $ pillarbox doctor --json --strict
  $ pillarbox doctor --config /etc/pillarbox.yaml`,
    run: async (call) => (await import('./doctor/doctor.ts')).runDoctor(call),
  },
  {
    name: 'explain',
    description: 'Say in words what became of the events about one entity: who was told, who was not, and why.',
    options: [
      { flags: '--entity <type:id>', description: 'what the events are about, such as booking:42', isRequired: true },
      { flags: '--channel <name>', description: 'leave out what was decided about other channels' },
      { flags: '--json', description: 'print it as JSON, with counts of notifications by status' },
      ...SERVER_OPTIONS,
    ],
    parts: ['any'],
    help: `
Reads the database, and then needs --tenant; with --url or PILLARBOX_URL it asks that server, with a key. Times are UTC,
addresses are masked. Exit code 1 where no event is found; then it says what to look at.

Examples:
  $ pillarbox explain --tenant acme --entity booking:42
  $ pillarbox explain --tenant acme --entity booking:42 --channel email
  $ PILLARBOX_KEY=… pillarbox explain --url https://pillarbox.example.com --entity booking:42
  $ DATABASE_URL=postgres://app@db/app pillarbox explain --tenant acme --entity booking:42 --json`,
    run: async (call) => (await import('./explain.ts')).explainEntity(call),
  },
  {
    name: 'audit',
    description: 'Look after the record of what was done.',
    help: `
Examples:
  $ pillarbox audit verify
  $ pillarbox audit verify --tenant acme`,
  },
  {
    name: 'audit verify',
    description: 'Find out whether somebody has changed the audit by hand.',
    options: [
      { flags: '--tenant <id>', description: 'only the chain of this tenant', read: slug },
      {
        flags: '--expect-head <hash>',
        description: 'a head that was printed before and kept elsewhere; finds an end that was cut off',
      },
      { flags: '--json', description: 'print it as JSON' },
    ],
    parts: ['any'],
    help: `
Every row of the audit and every attempt is compared with its hash in the chain of its tenant. A row that was changed, deleted,
inserted or swapped is found, the first one is named, and the exit code is 1. Each chain's head is printed: keep it somewhere else,
and give it to a later run.

Examples:
  $ pillarbox audit verify
  $ pillarbox audit verify --tenant acme --expect-head 5f1c…
  $ DATABASE_URL=postgres://auditor@db/app pillarbox audit verify --json`,
    run: async (call) => (await import('./audit.ts')).verifyAudit(call),
  },
  {
    name: 'purge',
    description: 'Remove what is over and past its retention: final notifications, events, callbacks, audit.',
    options: [
      { flags: '--older-than <duration>', description: 'instead of each tenant’s retention, such as P90D' },
      { flags: '--tenant <id>', description: 'only this tenant’s', read: slug },
      { flags: '--dry-run', description: 'remove nothing; count what would be' },
    ],
    parts: ['any'],
    help: `
Workers do the same by themselves (PILLARBOX_PURGE_EVERY). What waits, is being sent, is parked or uncertain is never removed.
It may be broken off at any moment: run it again, and it goes on. Exit code 1: it was stopped before the end, or another
purge is under way.

Examples:
  $ pillarbox purge --dry-run
  $ pillarbox purge --older-than P90D --tenant acme
  $ DATABASE_URL=postgres://app@db/app pillarbox purge`,
    run: async (call) => (await import('./purge.ts')).purgeStore(call),
  },
  {
    name: 'personal-data',
    description: 'Hand over, or erase, what is kept about one person.',
    help: `
Examples:
  $ pillarbox personal-data export --tenant acme --address ada@example.com > ada.jsonl
  $ pillarbox personal-data erase --tenant acme --address ada@example.com --note "asked by letter, 3 May"`,
  },
  {
    name: 'personal-data export',
    description: 'Print everything that is kept about one person, one JSON object a line.',
    options: [TENANT, ...PERSON],
    parts: ['any'],
    help: `
Rows that are the person's are printed whole; of rows that are about others too, only what names the person.

Examples:
  $ pillarbox personal-data export --tenant acme --address +919876543210
  $ pillarbox personal-data export --tenant acme --contact 019b…`,
    run: async (call) => (await import('./personal-data.ts')).exportPersonalData(call),
  },
  {
    name: 'personal-data erase',
    description: 'Erase what is kept about one person. Cannot be undone.',
    options: [
      TENANT,
      ...PERSON,
      { flags: '--note <text>', description: 'why; kept in the audit, so name nobody in it', isRequired: true },
    ],
    parts: ['any'],
    help: `
Notifications stay as rows, without recipient and content; what waits is cancelled. Suppressions stay as keyed hashes. With
SQLite the file is then written anew, and servers that use it wait meanwhile.

Examples:
  $ pillarbox personal-data erase --tenant acme --address ada@example.com --note "asked by letter, 3 May"`,
    run: async (call) => (await import('./personal-data.ts')).erasePersonalData(call),
  },
  {
    name: 'keys',
    description: 'Show and change the keys of this installation.',
    help: `
Examples:
  $ pillarbox keys sealing
  $ pillarbox keys ops
  $ pillarbox keys rotate --dry-run`,
  },
  {
    name: 'keys sealing',
    description: 'Print the public key that applications seal secrets with.',
    parts: ['any'],
    help: `
It seals and does not open, so it may stand in any application's settings. It belongs to the master key.

Examples:
  $ pillarbox keys sealing
  $ PILLARBOX_MASTER_KEY=… pillarbox keys sealing`,
    run: async (call) => (await import('./keys.ts')).printSealingKey(call),
  },
  {
    name: 'keys ops',
    description: 'Make another ops key, which may do everything.',
    parts: ['any'],
    help: `
For when the first one is lost, or for somebody else. In a terminal the key is printed, once. Elsewhere it is written to a file
in the data folder that only its owner may read, and the file's path is printed. The keys that are there stay valid: revoke
them with DELETE /ops/keys/{id}.

Examples:
  $ pillarbox keys ops
  $ DATABASE_URL=postgres://app@db/app pillarbox keys ops`,
    run: async (call) => (await import('./ops-key.ts')).makeOpsKey(call),
  },
  {
    name: 'keys rotate',
    description: 'Change the master key: seal every secret anew, under the new one.',
    options: [
      {
        flags: '--dry-run',
        description: 'change nothing; count what would be sealed anew, and try whether it opens',
      },
    ],
    parts: ['any'],
    help: `
With key files a new master key is made in the data folder; servers that use the same folder take it up by themselves. With
PILLARBOX_MASTER_KEY, set that to the new key and PILLARBOX_FORMER_MASTER_KEYS to the old one, for every process, one after
the other, and then for this command. Servers go on working meanwhile.

It may be broken off or killed at any moment: run it again, and it goes on. Exit code 0: everything is sealed under the new
key. 1: it was refused or failed, and says what to do; nothing is lost.

Examples:
  $ pillarbox keys rotate --dry-run
  $ pillarbox keys rotate
  $ PILLARBOX_MASTER_KEY=… PILLARBOX_FORMER_MASTER_KEYS=… DATABASE_URL=postgres://app@db/app pillarbox keys rotate`,
    run: async (call) => (await import('./keys.ts')).changeKeys(call, 'rotate'),
  },
  {
    name: 'keys retire',
    description: 'Let former master keys go, once nothing is sealed under them.',
    options: [{ flags: '--dry-run', description: 'change nothing; count what is still sealed under them' }],
    parts: ['any'],
    help: `
Run it when every application that seals secrets itself has the new sealing key. What was sealed with the former one since
the rotation is sealed anew, and then the former keys stay (exit code 1): somebody still used them. Where there was nothing
of the kind, former key files are removed, and what to take out of PILLARBOX_FORMER_MASTER_KEYS is said.

Examples:
  $ pillarbox keys retire --dry-run
  $ pillarbox keys retire`,
    run: async (call) => (await import('./keys.ts')).changeKeys(call, 'retire'),
  },
  {
    name: 'rollups',
    description: 'Look after the sums that numbers are told from.',
    help: `
Examples:
  $ pillarbox rollups rebuild`,
  },
  {
    name: 'rollups rebuild',
    description: 'Count everything anew and mend the sums behind /api/kpis and /ops/kpis.',
    parts: ['any'],
    help: `
Servers and workers go on meanwhile, and nothing is wrong in between: the sums are mended in one step at the end. It may be
broken off at any moment. Needed after a database was mended by hand, and after an upgrade from a version without these
sums during which processes of both versions ran. What was purged is counted no more.

Examples:
  $ pillarbox rollups rebuild
  $ DATABASE_URL=postgres://app@db/app pillarbox rollups rebuild`,
    run: async (call) => (await import('./rollups.ts')).rebuildRollups(call),
  },
  {
    name: 'catalogue',
    description: 'Check, import and read catalogues: what events mean, who is told, when and in which words.',
    help: `
Examples:
  $ pillarbox catalogue show busflow > busflow.yaml      begin with a ready-made one
  $ pillarbox catalogue check busflow.yaml
  $ pillarbox catalogue import busflow.yaml --tenant acme`,
  },
  {
    name: 'catalogue check',
    description: 'Say everything that is wrong with a catalogue file, with line, column and how to mend it.',
    argument: ['<file>', 'YAML or JSON'],
    help: `
Exit code 1 where something is wrong; warnings alone are 0. Needs no database.

Examples:
  $ pillarbox catalogue check busflow.yaml`,
    run: async (call) => (await import('./catalogue.ts')).checkFile(call),
  },
  {
    name: 'catalogue import',
    description: 'Replace a tenant’s catalogue by a file, after showing what that changes.',
    argument: ['<file>', 'YAML or JSON'],
    options: [
      TENANT,
      { flags: '--yes', description: 'do not ask' },
      { flags: '--dry-run', description: 'only show what would change' },
    ],
    parts: ['any'],
    help: `
Templates that nobody edited follow the file; edited ones are kept and shown. Running servers follow within a second.
Exit code 1 where something is wrong, or where it may not be imported: nobody was asked and --yes is missing.

Examples:
  $ pillarbox catalogue import busflow.yaml --tenant acme
  $ pillarbox catalogue import busflow.yaml --tenant acme --dry-run
  $ DATABASE_URL=postgres://app@db/app pillarbox catalogue import busflow.yaml --tenant acme --yes`,
    run: async (call) => (await import('./catalogue.ts')).importFile(call),
  },
  {
    name: 'catalogue types',
    description: 'Write TypeScript types for publish(): a wrong payload then does not compile.',
    argument: ['[file]', 'YAML or JSON; or --tenant'],
    options: [
      { flags: '--tenant <id>', description: 'take what this tenant has', read: slug },
      { flags: '--out <file>', description: 'write there instead of printing it' },
    ],
    parts: ['any'],
    help: `
Examples:
  $ pillarbox catalogue types busflow.yaml --out src/events.ts
  $ pillarbox catalogue types --tenant acme > src/events.ts

  import type { Events } from './events.ts'
  await publish<Events>(fromPg(client), { tenantId: 'acme', type: 'BOOKING_CONFIRMED', entity, payload })`,
    run: async (call) => (await import('./catalogue.ts')).printTypes(call),
  },
  {
    name: 'catalogue export',
    description: 'Print a tenant’s catalogue as it was last imported.',
    options: [TENANT],
    parts: ['any'],
    help: `
Templates that were edited since are not in it: they are under /api/message-templates.

Examples:
  $ pillarbox catalogue export --tenant acme > acme.yaml`,
    run: async (call) => (await import('./catalogue.ts')).exportDocument(call),
  },
  {
    name: 'catalogue list',
    description: 'List the catalogues that ship with Pillarbox.',
    help: '\nExamples:\n  $ pillarbox catalogue list',
    run: async (call) => (await import('./catalogue.ts')).listReady(call),
  },
  {
    name: 'catalogue show',
    description: 'Print a catalogue that ships with Pillarbox.',
    argument: ['<name>', 'one of "pillarbox catalogue list"'],
    help: '\nExamples:\n  $ pillarbox catalogue show atlas > atlas.yaml',
    run: async (call) => (await import('./catalogue.ts')).showReady(call),
  },
  ...OPERATOR_COMMANDS,
]
