import { NativeSelect, PasswordInput, Textarea, TextInput } from '@mantine/core'
import type { Problem, Provider } from '@pillarbox/client'

type ProviderField = Provider['settings'][number]

interface FieldInputsProps {
  fields: readonly ProviderField[]
  /** As they are typed, by name. */
  values: Record<string, string>
  change: (values: Record<string, string>) => void
  /** Write-only: what is set is not shown, and an empty field leaves it as it is. */
  isSecret?: boolean
  isSet?: (name: string) => boolean
  /** Where these fields stand in the body, for what the server says of them. */
  path: string
  errors: readonly Problem[]
}

/** The fields that a provider itself asks for. */
export function FieldInputs({ fields, values, change, isSecret = false, isSet, path, errors }: FieldInputsProps) {
  return fields.map((field) => {
    const { name, words, isRequired, kind, choices = [], parts = [] } = field
    const mine = errors.filter((each) => each.path === `${path}/${name}` || each.path.startsWith(`${path}/${name}/`))
    const shared = {
      label: name,
      description: kind === 'object' ? `${words} As JSON: ${parts.map((part) => part.name).join(', ')}.` : words,
      required: isRequired && !isSet?.(name),
      error: mine.length > 0 ? mine.map(({ message }) => message).join('; ') : undefined,
      value: values[name] ?? '',
      mb: 'xs',
    }
    const set = (value: string): void => change({ ...values, [name]: value })
    if (isSecret)
      return (
        <PasswordInput
          key={name}
          {...shared}
          autoComplete="new-password"
          placeholder={isSet?.(name) ? 'set; type to replace it' : ''}
          onChange={({ currentTarget }) => set(currentTarget.value)}
          visibilityToggleButtonProps={{ 'aria-label': `Show ${name}` }}
        />
      )
    if (kind === 'choice')
      return (
        <NativeSelect
          key={name}
          {...shared}
          data={['', ...choices]}
          onChange={({ currentTarget }) => set(currentTarget.value)}
        />
      )
    if (kind === 'object')
      return (
        <Textarea
          key={name}
          {...shared}
          autosize
          classNames={{ input: 'mono' }}
          onChange={({ currentTarget }) => set(currentTarget.value)}
        />
      )
    return (
      <TextInput
        key={name}
        {...shared}
        inputMode={kind === 'number' ? 'numeric' : 'text'}
        onChange={({ currentTarget }) => set(currentTarget.value)}
      />
    )
  })
}

/** What was typed, as the API takes it. What is empty is not said. */
export function settingsOf(fields: readonly ProviderField[], values: Record<string, string>): Record<string, unknown> {
  return Object.fromEntries(
    fields.flatMap(({ name, kind }) => {
      const text = values[name]?.trim() ?? ''
      return text === '' ? [] : [[name, typedValue(kind, text)]]
    }),
  )
}

function typedValue(kind: ProviderField['kind'], text: string): unknown {
  if (kind === 'number') return Number.isNaN(Number(text)) ? text : Number(text)
  if (kind !== 'object') return text
  try {
    return JSON.parse(text) as unknown
  } catch {
    return text
  }
}

export function secretsOf(values: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== ''))
}

/** Settings as they are typed. */
export function typedOf(settings: Record<string, unknown>): Record<string, string> {
  return Object.fromEntries(Object.entries(settings).map(([name, value]) => [name, textOfSetting(value)]))
}

export function textOfSetting(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
