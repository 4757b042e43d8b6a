import {
  type Attributes,
  context,
  isSpanContextValid,
  ProxyTracerProvider,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import type { SpanAttributes, SpanName, Tracing } from '../model/ports.ts'
import { traceparentOf } from '../model/trace.ts'

const KINDS: Readonly<Record<SpanName, SpanKind>> = {
  'pillarbox.publish': SpanKind.PRODUCER,
  'pillarbox.plan': SpanKind.CONSUMER,
  'pillarbox.attempt': SpanKind.CLIENT,
  'pillarbox.receipt': SpanKind.CONSUMER,
}

/**
 * Spans for whichever OpenTelemetry SDK the process was started with. Without one there are none, and asking costs next to
 * nothing.
 */
export function createTracing(version: string): Tracing {
  return {
    isOn: () => registeredTracer(version) !== null,
    begin(name, parent, attributes) {
      const tracer = registeredTracer(version)
      if (tracer === null) return null
      const span = tracer.startSpan(
        name,
        { kind: KINDS[name], attributes: withNames(attributes) },
        parentContext(name, parent),
      )
      const own = span.spanContext()
      if (!isSpanContextValid(own)) return null
      return {
        traceparent: written(own),
        within: (work) => context.with(trace.setSpan(context.active(), span), work),
        end(more = {}, isFailed = false) {
          span.setAttributes(withNames(more))
          if (isFailed) span.setStatus({ code: SpanStatusCode.ERROR })
          span.end()
        },
      }
    },
  }
}

/** An SDK may be registered at any time; as long as none is, there is nobody to record anything. */
function registeredTracer(version: string): Tracer | null {
  const provider = trace.getTracerProvider()
  if (provider instanceof ProxyTracerProvider) return provider.getDelegateTracer('pillarbox', version) ?? null
  return provider.getTracer('pillarbox', version)
}

/**
 * What is published belongs to the request that brings it, which the SDK may trace as well; everything later is done by a
 * loop, whose own context says nothing.
 */
function parentContext(name: SpanName, parent: string | null): ReturnType<typeof context.active> {
  const active = context.active()
  if (name === 'pillarbox.publish' && trace.getSpan(active)) return active
  const remote = parent === null ? null : readSpanContext(parent)
  return remote ? trace.setSpanContext(active, remote) : trace.deleteSpan(active)
}

function readSpanContext(traceparent: string): SpanContext | null {
  if (traceparentOf(traceparent) === null) return null
  const [, traceId = '', spanId = '', flags = '00'] = traceparent.split('-')
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true }
}

function written({ traceId, spanId, traceFlags }: SpanContext): string {
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`
}

/** `notificationId` is `pillarbox.notification_id`. */
function withNames(attributes: SpanAttributes): Attributes {
  const known = Object.entries(attributes).filter(([, value]) => value !== null)
  return Object.fromEntries(
    known.map(([name, value]) => [
      `pillarbox.${name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)}`,
      value,
    ]),
  )
}
