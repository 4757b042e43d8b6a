import type { CommandEntry, CommandOption } from '../../packages/pillarbox/src/cli/command.ts'
import { COMMANDS } from '../../packages/pillarbox/src/cli/commands.ts'
import { OUTPUT_OPTIONS, SERVER_OPTIONS } from '../../packages/pillarbox/src/cli/operator/server.ts'

/** `docs/reference/command-line.md`: every command with its arguments, flags and examples. */
export function commandLinePage(): string {
  const groups = new Set(COMMANDS.filter(({ run }) => !run).map(({ name }) => name))
  // Commands of a group stand together, also where they were added to it later.
  const nameOf = ({ name }: CommandEntry): string => name.split(' ')[0] ?? name
  const sections = Map.groupBy(COMMANDS, nameOf)
  const parts = [...sections].flatMap(([name, entries]) => {
    if (!groups.has(name)) return entries.map((entry) => commandSection(entry, '##'))
    const [group, ...commands] = entries
    return [
      `## ${name}\n\n${escaped(group?.description ?? '')}`,
      ...commands.map((entry) => commandSection(entry, '###')),
    ]
  })
  return `${[HEAD, overview(), ...parts].join('\n\n')}\n`
}

function overview(): string {
  const rows = COMMANDS.filter(({ run }) => run).map(
    (entry) =>
      `| \`${synopsis(entry)}\` | ${asksServer(entry) ? 'a server' : needsOf(entry)} | ${escaped(entry.description)} |`,
  )
  return ['## All of them', '', '| command | asks | what |', '|---|---|---|', ...rows].join('\n')
}

function asksServer({ options = [] }: CommandEntry): boolean {
  return OUTPUT_OPTIONS.every((shared) => options.includes(shared))
}

function needsOf({ parts, isServer }: CommandEntry): string {
  if (isServer) return 'serves'
  return parts === undefined ? 'nothing' : 'the database'
}

function synopsis({ name, argument }: CommandEntry): string {
  return `pillarbox ${name}${argument === undefined ? '' : ` ${argument[0]}`}`
}

const SHARED = new Set<CommandOption>([...SERVER_OPTIONS, ...OUTPUT_OPTIONS])

function commandSection(entry: CommandEntry, level: string): string {
  const { argument, options = [], parts, help } = entry
  const own = options.filter((option) => !SHARED.has(option))
  const rows = [
    ...(argument ? [`| \`${argument[0]}\` | ${escaped(argument[1])} |`] : []),
    ...own.map(({ flags, description, isRequired }) => {
      const needed = isRequired ? ' Required.' : ''
      return `| \`${flags.replaceAll('|', '\\|')}\` | ${escaped(sentence(description))}${needed} |`
    }),
  ]
  const [about = '', examples = ''] = help.split(/\n?Examples:\n/)
  const also = [
    ...(asksServer(entry) ? ['Asks a server, with [its flags](#asking-a-server).'] : []),
    ...(parts ? ['Takes [settings](config.md) as flags.'] : []),
  ]
  return [
    `${level} ${entry.name}`,
    escaped(entry.description),
    ...(about.trim() === '' ? [] : [escaped(about.trim())]),
    ...(rows.length > 0 ? [['| | |', '|---|---|', ...rows].join('\n')] : []),
    ...(also.length > 0 ? [also.join(' ')] : []),
    `\`\`\`sh\n${examples.replaceAll(/^ {2}/gm, '').trimEnd()}\n\`\`\``,
  ].join('\n\n')
}

function sentence(text: string): string {
  const first = text.charAt(0).toUpperCase() + text.slice(1)
  return first.endsWith('.') ? first : `${first}.`
}

/** What Markdown would take for something else. */
function escaped(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll(/<(\w+)>/g, '&lt;$1&gt;')
}

const HEAD = `# The command line

\`pillarbox --help\` lists the commands, \`pillarbox help COMMAND\` says all about one. From a checkout it is
\`npm run -s pillarbox -- COMMAND\`. This page is made from the same table as the help.

## Two kinds of commands

- **Those that ask a server** (\`notifications\`, \`bulk\`, \`events\`, \`schedules\`, \`kpis\`, \`tail\`, \`accounts\`, \`templates\`, \`tenants\`,
  \`keys list\`, …) need its address and an API key, on whatever machine. What they do is done by the API, with the rights of
  the key's role, and stands in the audit under the key's name.
- **Those that open the database** (\`migrate\`, \`doctor\`, \`audit verify\`, \`purge\`, \`personal-data\`, \`keys ops\`, \`keys rotate\`, \`rollups\`, \`catalogue\`)
  need the settings of the server, \`DATABASE_URL\` or its data folder above all, and work while no server runs. They stand in
  the audit as \`cli\`.

\`explain\` does either: it opens the database, unless \`--url\` or \`PILLARBOX_URL\` names a server.

## Asking a server

| flag | environment | |
|---|---|---|
| \`--url\` | \`PILLARBOX_URL\` | Where it is. Default: \`http://127.0.0.1:4400\`. |
| \`--key\` | \`PILLARBOX_KEY\`, \`PILLARBOX_KEY_FILE\` | The key, or a file that holds it and nothing else. The flag comes first, then the key, then the file. Other users of a machine can read the flags of a process: prefer the environment. The key is never shown. |
| \`--tenant\` | | Which tenant, with an ops key. Lists that span tenants do without. Other keys have one tenant and must not name it. |

An ops key that a start left in the data folder is named where a key is missing, but never taken by itself: while the server is
down anybody on the machine may listen on its port, and would be given a key that may do everything.

Where a server does not answer, a read is tried twice more, and so is what carries an id or an idempotency key, such as an event.
Nothing else is sent twice.

## What is printed

- **In a terminal**: tables as wide as it is, with \`…\` where something is cut (ids never are) and without the columns that have no
  room, which is said, and colours unless \`NO_COLOR\` is set. Times are in this machine's zone, which is named; \`--utc\` has them in UTC.
- **In a pipe, or with \`--json\`**: JSON as the API answers it, one object a line, for a list one line for each item. Times are in
  UTC. \`--table\` prints tables there, too.
- What strangers wrote cannot move the cursor or change colours: control characters, and those that turn the direction of text, are
  blanks in tables and \`\\u…\` in JSON.
- Lists have 50 items; \`--limit\` says how many, \`--all\` goes on to the end, \`--cursor\` goes on where an earlier list ended, which
  says how on stderr.
- Times are given as \`2026-03-15T09:30:00Z\`, as a date (its beginning in UTC), or as how long ago: \`--from PT1H\`.
- What is said beside the answer (progress, that there is more, why something was refused) goes to stderr.

Commands that open the database print words, and JSON with \`--json\` where they have it.

## Exit codes

| code | |
|---|---|
| 0 | It was done, or stopped by Ctrl-C where nothing is lost by that (\`tail\`, \`bulk watch\`). |
| 1 | It was refused, failed, or something was found to be wrong; stderr says what, and what to do. |
| 2 | The command line is wrong: an unknown command or flag, or a value that cannot be. |`
