import { Context, Drop, type Emitter, type Liquid, toValue } from 'liquidjs'
import type { DateSettings } from './dates.ts'
import { MAX_OUTPUT_CHARACTERS, type WorkBudget } from './limits.ts'
import type { PathStep, Payload } from './payload.ts'
import { SafeHtml } from './values.ts'

/** What one rendering keeps track of, over subject, body and provider template. */
export interface RenderState {
  payload: Payload
  settings: FillSettings
  work: WorkBudget
  /** Characters written so far. */
  written: number
  missing: MissingKeys
}

export interface FillSettings extends DateSettings {
  currency?: string
  missing: 'empty' | 'keep'
}

/** Keys that could not be filled in, in order. */
export interface MissingKeys {
  note(key: string, why: 'absent' | 'object'): void
}

type Scope = Record<PathStep, unknown>
type Limits = NonNullable<ConstructorParameters<typeof Context>[3]>

/** What a template may ask of `forloop` and `tablerowloop`. */
const LOOP_PROPERTIES = new Set(
  'index index0 rindex rindex0 first last length name row col col0 col_first col_last'.split(' '),
)

/**
 * A template at work on a payload. What liquidjs reads, it reads from here: variables of the template first, then the
 * payload, which it never writes to.
 */
export class Filling extends Context {
  readonly rendering: RenderState
  readonly isHtml: boolean
  /** While a placeholder is filled in: then a key that is not there is missing. A condition may well ask in vain. */
  isFilling = false
  readonly #scopes: Scope[] = [Object.create(null) as Scope]

  constructor(rendering: RenderState, liquid: Liquid, isHtml: boolean) {
    // Counters of `increment` go into the first argument, which must therefore not be the payload.
    const limits = { memoryLimit: rendering.work, renderLimit: rendering.work, liquid } as unknown as Limits
    super(Object.create(null) as object, liquid.options, { sync: true }, limits)
    this.rendering = rendering
    this.isHtml = isHtml
  }

  find(path: readonly PathStep[]): unknown {
    const name = path[0] as PathStep
    for (let i = this.#scopes.length - 1; i >= 0; i--) {
      const scope = this.#scopes[i] as Scope
      if (!(name in scope)) continue
      const value = scope[name]
      this.rendering.work.weigh(toValue(value))
      return path.length === 1 ? value : this.findIn(value, path.slice(1))
    }
    const counters = this.environments as Scope
    if (name in counters) return path.length === 1 ? counters[name] : undefined
    return this.rendering.payload.find(path)
  }

  findIn(base: unknown, path: readonly PathStep[]): unknown {
    if (base instanceof Drop) {
      const isLoop = path.length === 1 && LOOP_PROPERTIES.has(String(path[0])) && 'index0' in base
      if (isLoop) return super.readProperty(base, path[0] as PathStep) as unknown
      return this.rendering.payload.findIn(toValue(base), path)
    }
    return this.rendering.payload.findIn(base, path)
  }

  // liquidjs yields these to a driver that takes a plain value as readily as a generator.
  override _get(path: unknown[]): IterableIterator<unknown> {
    const steps = stepsOf(path)
    const value = steps ? this.find(steps) : undefined
    if (value === undefined && this.isFilling && steps) this.rendering.missing.note(steps.join('.'), 'absent')
    return value as IterableIterator<unknown>
  }

  override _getFromScope(base: unknown, path: unknown[] | string): IterableIterator<unknown> {
    const steps = stepsOf(typeof path === 'string' ? path.split('.') : path)
    return (steps ? this.findIn(base, steps) : undefined) as IterableIterator<unknown>
  }

  override push(scope: object): number {
    return this.#scopes.push(scope as Scope)
  }

  override pop(): Scope | undefined {
    return this.#scopes.pop()
  }

  override bottom(): Scope {
    return this.#scopes[0] as Scope
  }

  /** Where text goes; `capture` and the whole body have one each. */
  emitter(): Emitter {
    const { rendering } = this
    const emitter: Emitter = {
      buffer: '',
      write(text: unknown) {
        const words = typeof text === 'string' ? text : String(text)
        rendering.written += words.length
        if (rendering.written > MAX_OUTPUT_CHARACTERS) throw new Error('limit exceeded: the text is too long')
        emitter.buffer += words
      },
    }
    return emitter
  }

  /** What `capture` keeps. */
  captured(text: string): string | SafeHtml {
    return this.isHtml ? new SafeHtml(text) : text
  }
}

/** Null where one of them is no key: `rooms[nobody]`. */
function stepsOf(path: readonly unknown[]): readonly PathStep[] | null {
  return path.every((step) => typeof step === 'string' || typeof step === 'number') ? path : null
}
