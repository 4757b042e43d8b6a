import { Skeleton, Switch, Textarea } from '@mantine/core'
import { lazy, type Ref, Suspense, useImperativeHandle, useRef, useState } from 'react'

const CodeEditor = lazy(async () => ({ default: (await import('./code-editor.tsx')).CodeEditor }))

/** What may be asked of an editor from beside it. */
export interface EditorHandle {
  insert(text: string): void
  goTo(line: number, column: number): void
}

export interface CodeFieldProps {
  label: string
  value: string
  change: (value: string) => void
  isHtml: boolean
  /** The line that cannot be read. */
  errorLine: number | null
  handle: Ref<EditorHandle>
}

const KEPT_AS = 'pillarbox.plain-editor'

/** The words of a template: in an editor with colours, or as plain text, which everything can read and fill. */
export function CodeField(props: CodeFieldProps) {
  const [isPlain, setPlain] = useState(() => localStorage.getItem(KEPT_AS) === 'yes')
  return (
    <div>
      <Switch
        size="xs"
        label="Plain text field"
        checked={isPlain}
        onChange={({ currentTarget }) => {
          localStorage.setItem(KEPT_AS, currentTarget.checked ? 'yes' : 'no')
          setPlain(currentTarget.checked)
        }}
        mb={6}
      />
      {isPlain ? (
        <PlainField {...props} />
      ) : (
        <Suspense fallback={<Skeleton height={240} />}>
          <CodeEditor {...props} />
        </Suspense>
      )}
    </div>
  )
}

function PlainField({ label, value, change, errorLine, handle }: CodeFieldProps) {
  const field = useRef<HTMLTextAreaElement>(null)
  useImperativeHandle(handle, () => ({
    insert(text) {
      const node = field.current
      if (!node) return
      const [from, to] = [node.selectionStart, node.selectionEnd]
      change(value.slice(0, from) + text + value.slice(to))
      node.focus()
    },
    goTo(line, column) {
      const before = value.split('\n').slice(0, line - 1)
      const place = before.reduce((sum, each) => sum + each.length + 1, 0) + column - 1
      field.current?.focus()
      field.current?.setSelectionRange(place, place)
    },
  }))
  return (
    <Textarea
      ref={field}
      aria-label={label}
      value={value}
      onChange={({ currentTarget }) => change(currentTarget.value)}
      error={errorLine === null ? undefined : `line ${errorLine}`}
      autosize
      minRows={10}
      maxRows={30}
      classNames={{ input: 'mono' }}
    />
  )
}
