import { CONFIG_FILE_ENV, defaultOf, flagName, optionEntries } from '../../packages/pillarbox/src/config/options.ts'

const WIDTH = 120

/** `config.example.yaml`: every key, commented out, with its default. */
export function exampleFile(): string {
  const entries = optionEntries().map(([, entry]) => {
    const { text, isRemark } = defaultOf(entry)
    const doc = wrap(isRemark ? `${entry.doc} Default: ${text}.` : entry.doc, WIDTH - 2).map((line) => `# ${line}`)
    return [...doc, isRemark ? `#${entry.key}:` : `#${entry.key}: ${text}`].join('\n')
  })
  const head = [
    '# Settings of Pillarbox, each with its default. Take the # off the keys you change, and name this file with',
    `# --config or ${CONFIG_FILE_ENV}. Flags and environment variables win over it; unknown keys are refused.`,
  ]
  return `${[head.join('\n'), ...entries].join('\n\n')}\n`
}

/** `docs/reference/config.md`: every option with its three names. */
export function referencePage(): string {
  const sections = optionEntries().map(([, entry]) => {
    const { text, isRemark } = defaultOf(entry)
    const flag = entry.flag === null ? 'none, because it is secret' : `\`${flagName(entry.flag)}\``
    return [
      `## ${entry.key}`,
      '',
      ...wrap(entry.doc, WIDTH),
      '',
      `| environment | flag | default | expected | used by |`,
      `|---|---|---|---|---|`,
      `| ${environmentOf(entry)} | ${flag} | ${isRemark ? text.replaceAll(/<(\w+)>/g, '`$1`') : `\`${text}\``} | ${entry.check.expected} | ${USED_BY[entry.part]} |`,
    ].join('\n')
  })
  return `${[HEAD, ...sections].join('\n\n')}\n`
}

function environmentOf({ env, from }: ReturnType<typeof optionEntries>[number][1]): string {
  return [env, ...(from ? [from.file, from.command] : [])].map((name) => `\`${name}\``).join(', ')
}

const USED_BY = {
  any: 'every command',
  server: '`start`, `api`, `worker`',
  api: '`start`, `api`',
  worker: '`start`, `worker`',
} as const

const HEAD = `# Settings

Each setting can be given as a flag, as an environment variable, or by its key in a config file (YAML or JSON), which
\`--config\` or \`${CONFIG_FILE_ENV}\` names. Flags win over the environment, the environment over the file, the file over
the default. Unknown keys in the file are refused, and all that is wrong is said at once. An empty variable counts as
not set. Durations are ISO 8601: \`PT30S\`, \`PT10M\`, \`P1D\`. Switches are \`1\`, \`0\`, \`true\` or \`false\`; as a flag they
stand alone, with \`--no-\` in front to switch off. \`config.example.yaml\` has every key with its default.

A secret can also stay where it is kept. \`…_FILE\` names a file that holds it and nothing else, as Docker and Kubernetes mount
them; \`…_COMMAND\` is a command that prints it, by which any vault serves: words between spaces, or a JSON list of words
where one has spaces in it. No shell reads it, it has 10 seconds, and what it says is never shown nor logged. Both are read
when a process starts. Give a secret in one of these ways only.

\`NODE_EXTRA_CA_CERTS\` names a file of further certificate authorities, as with every Node program.

\`workerTtl\` must not be shorter than \`providerTimeout\` plus \`flushMs\`: a worker could otherwise be taken for dead, and
its messages sent again, while a call of its own is still within its time. Pillarbox refuses to start then.`

function wrap(text: string, width: number): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    if (line && line.length + 1 + word.length > width) {
      lines.push(line)
      line = word
    } else line = line ? `${line} ${word}` : word
  }
  return [...lines, line]
}
