import { COMMON_SETTINGS } from '../../packages/pillarbox/src/channels/account-check.ts'
import type { Field, Provider } from '../../packages/pillarbox/src/channels/channel.ts'
import type { Account } from '../../packages/pillarbox/src/model/account.ts'
import { formatDuration } from '../../packages/pillarbox/src/model/duration.ts'
import { TIERS } from '../../packages/pillarbox/src/model/tiers.ts'

/**
 * `docs/reference/providers.md`: what an account of each provider is made of. `receipts` says for each provider that
 * sends any where it sends them to.
 */
export function providersPage(providers: readonly Provider[], receipts: ReadonlyMap<string, string>): string {
  const parts = [
    HEAD,
    tiers(),
    EVERY,
    fieldTable('setting', COMMON_SETTINGS),
    overview(providers, receipts),
    ...providers.map((provider) => section(provider, receipts)),
  ]
  return `${parts.join('\n\n')}\n`
}

const HEAD = `# Providers

What an account of each provider is made of. An account is made with \`POST /api/channel-accounts\`: its \`channel\`, its
\`provider\`, a \`name\`, its \`settings\` and its \`secrets\`. Secrets can be written but never read; the answer names those
that are set. What is wrong with any of them is said at once, with 422 and the path of each; what a provider does not know
is kept and warned about (\`unknown_setting\`), and so is a missing one without which something will not work, such as
receipts (\`missing_secret\`). \`POST …/{id}/verify\` asks the vendor whether the credentials are good.

Every provider that speaks HTTP takes \`endpoint\`, to aim it at a gateway or at a server of your own for a test. Addresses
that are not public are refused when they are dialled, unless the server runs with \`PILLARBOX_ALLOW_PRIVATE_ENDPOINTS=1\`;
whoever saves such an address without it is told so by the warning \`private_endpoint\`.

Every channel has the provider \`sandbox\` too: [the guide](../guides/sandbox.md) has its settings. How to add a provider:
[the other guide](../guides/providers.md).

## Every account

| field | meaning |
|---|---|
| \`pace\` | \`{"perSecond": 5, "burst": 10}\`, or \`{"tier": "STANDARD"}\`; 50 a second with a burst of 50 where it is not given, none for \`sandbox\` and \`in_app\`; with \`null\` as fast as the vendor lets it. Exact over all workers. |
| \`retry\` | \`{maxAttempts, base, factor, cap, jitter}\`, \`{maxAttempts, fixed}\` or \`{delays}\`; an event type's own goes before. |
| \`onUnknown\` | What to do when nobody knows whether the vendor took a message and it cannot be asked: \`resend\` (default), flagged \`possibleDuplicate\`, or \`hold\`. |
| \`onUndeliverable\` | \`park\` (default) or \`fail\`; the same as the setting below. |
| \`onUnmapped\` | \`retry\` or \`park\`; the same as the setting below. |
| \`breaker\` | \`{failures, resetAfter}\`: after so many failures in a row the account rests, then tries with one. |
| \`parkedRetryAfter\` | A duration from \`PT1M\` to \`P7D\`: what was parked for a reason that passes by itself is [retried after it, once](../guides/recovery.md#what-is-retried-by-itself). Not given: it waits for somebody. |
| \`priority\` | Of a channel's active accounts the lowest goes first; the others stand in for it. |

### Tiers

A tier is a pace by name, for WhatsApp. Meta counts how many people a number may write to in a day (its messaging limit)
and how fast it may send (its throughput). \`settings.tier\` of \`meta\` is the account's pace where it names no other; where
both name a tier, they must name the same.`

const EVERY = `### Settings of every provider`

const TIER_WORDS: Record<keyof typeof TIERS, string> = {
  TIER_1: 'A cautious pace for a new number: 60 a minute.',
  TIER_2: '500 a minute.',
  TIER_3: '2,000 a minute.',
  TIER_4: '3,000 a minute.',
  UNLIMITED: 'A number without a messaging limit.',
  COEXISTENCE: 'Meta’s throughput for a number that the WhatsApp Business app uses too.',
  STANDARD: 'Meta’s throughput for any other number.',
  HIGH: 'Meta’s throughput for a number that it has upgraded.',
}

function tiers(): string {
  const rows = Object.entries(TIERS).map(
    ([name, { perSecond, burst }]) =>
      `| \`${name}\` | ${perSecond} | ${burst} | ${TIER_WORDS[name as keyof typeof TIERS]} |`,
  )
  return ['| tier | perSecond | burst | meaning |', '|---|---|---|---|', ...rows].join('\n')
}

const NO_ACCOUNT = { settings: {}, secrets: {} } as unknown as Account

function overview(providers: readonly Provider[], receipts: ReadonlyMap<string, string>): string {
  const rows = providers.map((provider) =>
    [
      '',
      provider.channels.map((channel) => `\`${channel}\``).join(', '),
      `[\`${provider.name}\`](#${provider.name})`,
      spokenBy(provider),
      // No provider of the page looks at the account for it.
      `\`${provider.capability(NO_ACCOUNT)}\`${bounds(provider)}`,
      receipts.has(provider.name) ? `[yes](receipts.md#${provider.name})` : 'no',
      provider.verify ? 'yes' : 'no',
      '',
    ]
      .join(' | ')
      .trim(),
  )
  return [
    '## All of them',
    '',
    '*Speaks*: the vendor’s protocol on the wire, or the vendor’s own npm package, which you install beside Pillarbox and',
    'which is loaded when an account first needs it. *Unknown outcome*: what is done when a call was made and no answer came:',
    '`key`, the call is made again and the vendor knows a repeat; `lookup`, the vendor is asked; `none`, the account’s',
    '`onUnknown` decides. A time behind `key` says how long the vendor knows a repeat: what is tried again later counts as a',
    'possible duplicate. A time behind `lookup` says how long the vendor may not know of a call yet.',
    '',
    '| channel | provider | speaks | unknown outcome | receipts | verify |',
    '|---|---|---|---|---|---|',
    ...rows,
  ].join('\n')
}

function bounds({ keyWindowMs, lookupLagMs }: Provider): string {
  if (keyWindowMs !== undefined) return ` for ${formatDuration(keyWindowMs)}`
  return lookupLagMs === undefined ? '' : ` after ${formatDuration(lookupLagMs)}`
}

function section(provider: Provider, receipts: ReadonlyMap<string, string>): string {
  const { name, words, fields, sdk } = provider
  const webhook = receipts.get(name)
  const notes = [
    ...(words === undefined ? [] : [words]),
    ...(sdk === undefined ? [] : [`Needs \`npm install ${sdk}\`.`]),
    ...(webhook === undefined ? [] : [`Receipts come to \`${webhook}\`.`]),
  ]
  return [
    `## ${name}`,
    wrapped(notes.join(' ')),
    fieldTable('setting', fields?.settings ?? {}),
    fieldTable('secret', fields?.secrets ?? {}),
  ]
    .filter((part) => part !== '')
    .join('\n\n')
}

function fieldTable(kind: 'setting' | 'secret', fields: Readonly<Record<string, Field>>): string {
  const rows = rowsOf('', fields)
  if (rows.length === 0) return kind === 'setting' ? 'No settings.' : ''
  return [`| ${kind} | required | meaning |`, '|---|---|---|', ...rows].join('\n')
}

function rowsOf(prefix: string, fields: Readonly<Record<string, Field>>): string[] {
  return Object.entries(fields).flatMap(([name, { words, isRequired, parts }]) => [
    `| \`${prefix}${name}\` | ${isRequired ? 'yes' : ''} | ${words.replaceAll('|', '\\|')} |`,
    ...(parts ? rowsOf(`${prefix}${name}.`, parts) : []),
  ])
}

function spokenBy({ sdk, fields }: Provider): string {
  if (sdk !== undefined) return `\`${sdk}\``
  // Where there is nothing to set there is nobody to speak to.
  return Object.keys({ ...fields?.settings, ...fields?.secrets }).length === 0 ? '–' : 'wire'
}

function wrapped(paragraph: string): string {
  return paragraph.replaceAll(/(.{1,119})(?: +|$)/g, '$1\n').trim()
}
