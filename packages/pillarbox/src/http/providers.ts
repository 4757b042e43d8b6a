import { type Static, Type } from 'typebox'
import type { Field, Provider } from '../channels/channel.ts'
import { ChannelName } from '../intake/body-fields.ts'
import { CHANNELS } from '../model/channel.ts'
import { TO_READ } from './auth.ts'
import type { App, Context } from './context.ts'
import { operationsOf } from './operation.ts'

const field = {
  name: Type.String(),
  words: Type.String({ description: 'What it is, in a sentence.' }),
  isRequired: Type.Boolean(),
  kind: Type.Enum(['text', 'number', 'choice', 'object']),
  choices: Type.Optional(Type.Array(Type.String())),
  without: Type.Optional(Type.String({ description: 'What does not work where it is not set.' })),
}

const FieldJson = Type.Object({
  ...field,
  parts: Type.Optional(Type.Array(Type.Object(field), { description: 'What an object is made of.' })),
})

const ProviderJson = Type.Object(
  {
    name: Type.String({ description: 'What accounts call it.' }),
    channel: ChannelName,
    words: Type.String({ description: 'What it sends, and by which service.' }),
    canVerify: Type.Boolean({ description: 'Whether its vendor can be asked about credentials.' }),
    canConnect: Type.Boolean({ description: 'Whether its vendor can be told where receipts go.' }),
    settings: Type.Array(FieldJson),
    secrets: Type.Array(FieldJson),
  },
  { title: 'Provider' },
)

const operation = operationsOf('Accounts')

/** `/api/providers`: what an account of each provider is made of, for whoever fills in a form. */
export function providerRoutes(app: App, { registry }: Context): void {
  app.get(
    '/api/providers',
    operation(TO_READ, 'What accounts can be made of, by channel', {
      operationId: 'listProviders',
      response: { 200: Type.Object({ items: Type.Array(ProviderJson) }) },
    }),
    async () => ({
      items: CHANNELS.flatMap((channel) =>
        registry.names(channel).flatMap((name) => {
          const provider = registry(channel, name)
          return provider ? [providerJson(channel, provider)] : []
        }),
      ),
    }),
  )
}

function providerJson(channel: Static<typeof ChannelName>, provider: Provider): Static<typeof ProviderJson> {
  const { name, words = '', fields, verify, connect } = provider
  return {
    name,
    channel,
    words,
    canVerify: verify !== undefined,
    canConnect: connect !== undefined,
    settings: fieldsJson(fields?.settings),
    secrets: fieldsJson(fields?.secrets),
  }
}

function fieldsJson(fields: Readonly<Record<string, Field>> = {}): Static<typeof FieldJson>[] {
  return Object.entries(fields).map(([name, { words, isRequired = false, without, parts, problem }]) => {
    const form = problem?.form
    const choices = form && 'choices' in form ? [...form.choices] : null
    return {
      name,
      words,
      isRequired,
      kind: parts ? 'object' : choices ? 'choice' : form ? 'number' : 'text',
      ...(choices && { choices }),
      ...(without !== undefined && { without }),
      ...(parts && { parts: fieldsJson(parts) }),
    }
  })
}
