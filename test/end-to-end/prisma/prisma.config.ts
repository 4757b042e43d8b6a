import path from 'node:path'
import { defineConfig } from 'prisma/config'

// `prisma generate` insists on having the engine for migrations, which it would download and then not use. Any
// existing file satisfies it. Nor does it need to ask for news.
process.env['PRISMA_SCHEMA_ENGINE_BINARY'] ??= process.execPath
process.env['CHECKPOINT_DISABLE'] ??= '1'

export default defineConfig({ schema: path.join(import.meta.dirname, 'schema.prisma') })
