import type { FastifyInstance } from 'fastify'
import { PillarboxError } from '../model/errors.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The body may also be a YAML document: it then arrives as text. */
    takesYaml?: boolean
  }
}

const TYPES = ['application/yaml', 'application/x-yaml', 'text/yaml', 'text/x-yaml']
const YAML_TYPE = /^(?:application|text)\/(?:x-)?yaml(?:[ \t]*;[ \t]*charset=(?:utf-8|"utf-8"))?[ \t]*$/i

export function isYamlType(type: string | undefined): boolean {
  return type !== undefined && YAML_TYPE.test(type)
}

const decoder = new TextDecoder('utf-8', { fatal: true })

/** Hands YAML bodies on as text; which routes take them is decided before. */
export function takeYaml(app: FastifyInstance): void {
  app.addContentTypeParser(TYPES, { parseAs: 'buffer' }, (_request, body, done) => {
    try {
      done(null, decoder.decode(body as Buffer))
    } catch {
      done(new PillarboxError('malformed_json', 'The body is not valid UTF-8.'))
    }
  })
}
