import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands'
import { html } from '@codemirror/lang-html'
import { liquid } from '@codemirror/lang-liquid'
import { bracketMatching, defaultHighlightStyle, HighlightStyle, syntaxHighlighting } from '@codemirror/language'
import { Compartment, EditorState, type Extension } from '@codemirror/state'
import { Decoration, EditorView, highlightActiveLine, keymap, lineNumbers } from '@codemirror/view'
import { useComputedColorScheme } from '@mantine/core'
import { useEffect, useImperativeHandle, useRef } from 'react'
import type { CodeFieldProps } from './code-field.tsx'

/** The editor with colours and line numbers. It is a chunk of its own: whoever looks at lists does not load it. */
export function CodeEditor({ value, change, label, isHtml, errorLine, handle }: CodeFieldProps) {
  const place = useRef<HTMLDivElement>(null)
  const view = useRef<EditorView | null>(null)
  const scheme = useComputedColorScheme('light')
  const latest = useRef({ value, change })
  latest.current = { value, change }
  const parts = useRef({ look: new Compartment(), language: new Compartment(), error: new Compartment() })

  useEffect(() => {
    const { look, language, error } = parts.current
    const made = new EditorView({
      parent: place.current ?? document.body,
      state: EditorState.create({
        doc: latest.current.value,
        extensions: [
          EditorView.cspNonce.of(document.querySelector<HTMLMetaElement>('meta[name="csp-nonce"]')?.content ?? ''),
          lineNumbers(),
          history(),
          bracketMatching(),
          highlightActiveLine(),
          EditorView.lineWrapping,
          EditorView.contentAttributes.of({ 'aria-label': label }),
          // Escape, then Tab, leaves the editor by keyboard.
          keymap.of([...defaultKeymap, ...historyKeymap, indentWithTab]),
          EditorView.updateListener.of(({ docChanged, state }) => {
            if (docChanged) latest.current.change(state.doc.toString())
          }),
          look.of([]),
          language.of([]),
          error.of([]),
        ],
      }),
    })
    view.current = made
    return () => made.destroy()
  }, [label])

  useEffect(() => {
    view.current?.dispatch({ effects: parts.current.look.reconfigure(lookOf(scheme)) })
  }, [scheme])
  useEffect(() => {
    const language = liquid(isHtml ? { base: html() } : {})
    view.current?.dispatch({ effects: parts.current.language.reconfigure(language) })
  }, [isHtml])
  useEffect(() => {
    view.current?.dispatch({ effects: parts.current.error.reconfigure(markLine(errorLine)) })
  }, [errorLine])
  // What comes from elsewhere, such as an older version, replaces what is there.
  useEffect(() => {
    const current = view.current
    if (current && current.state.doc.toString() !== value)
      current.dispatch({ changes: { from: 0, to: current.state.doc.length, insert: value } })
  }, [value])

  useImperativeHandle(handle, () => ({
    insert(text) {
      const current = view.current
      if (!current) return
      current.dispatch(current.state.replaceSelection(text))
      current.focus()
    },
    goTo(line, column) {
      const current = view.current
      if (!current) return
      const at = current.state.doc.line(Math.min(Math.max(1, line), current.state.doc.lines))
      current.dispatch({ selection: { anchor: Math.min(at.to, at.from + column - 1) }, scrollIntoView: true })
      current.focus()
    },
  }))

  return <div ref={place} className="code" />
}

function markLine(line: number | null): Extension {
  if (line === null) return []
  return EditorView.decorations.of((view) => {
    if (line > view.state.doc.lines) return Decoration.none
    return Decoration.set(Decoration.line({ class: 'error-line' }).range(view.state.doc.line(line).from))
  })
}

/** The same colours of the page, and of what is code a few that can be read on both grounds. */
function lookOf(scheme: 'light' | 'dark'): Extension {
  const frame = EditorView.theme(
    {
      '&': { backgroundColor: 'var(--pbx-panel)', color: 'var(--mantine-color-text)' },
      '.cm-content': { fontFamily: 'var(--mantine-font-family-monospace)', caretColor: 'var(--mantine-color-text)' },
      '.cm-gutters': {
        backgroundColor: 'var(--pbx-ground)',
        color: 'var(--mantine-color-dimmed)',
        borderRight: '1px solid var(--pbx-line)',
      },
      '.cm-activeLine': { backgroundColor: 'transparent' },
    },
    { dark: scheme === 'dark' },
  )
  if (scheme === 'light') return [frame, syntaxHighlighting(defaultHighlightStyle)]
  const light = HighlightStyle.define(
    defaultHighlightStyle.specs.map((spec) => {
      const colour: unknown = spec['color']
      return typeof colour === 'string' ? { ...spec, color: brighter(colour) } : spec
    }),
  )
  return [frame, syntaxHighlighting(light)]
}

/** The same hue, light enough for a dark ground. */
function brighter(colour: string): string {
  return `color-mix(in oklab, ${colour} 45%, white)`
}
