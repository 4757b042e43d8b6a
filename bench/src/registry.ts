import type { Peer } from './peer.ts'

export const PEERS = [
  'raw-pg',
  'raw-pg-planned',
  'sqlite',
  'pillarbox',
  'pillarbox-sqlite',
  'pg-boss',
  'graphile',
  'bullmq',
  'bare',
  'bare-http',
] as const
export type PeerName = (typeof PEERS)[number]

/** Loaded when needed, so that a measured process holds only the engine it measures. */
export async function loadPeer(name: PeerName): Promise<Peer> {
  switch (name) {
    case 'raw-pg':
      return (await import('./peers/raw-pg.ts')).rawPg
    case 'raw-pg-planned':
      return (await import('./peers/raw-pg-planned.ts')).rawPgPlanned
    case 'sqlite':
      return (await import('./peers/sqlite.ts')).sqlite
    case 'pillarbox':
      return (await import('./peers/pillarbox.ts')).pillarbox
    case 'pillarbox-sqlite':
      return (await import('./peers/pillarbox-sqlite.ts')).pillarboxSqlite
    case 'pg-boss':
      return (await import('./peers/pg-boss.ts')).pgBoss
    case 'graphile':
      return (await import('./peers/graphile.ts')).graphile
    case 'bullmq':
      return (await import('./peers/bullmq.ts')).bullmq
    case 'bare':
      return (await import('./peers/bare.ts')).bare
    case 'bare-http':
      return (await import('./peers/bare.ts')).bareHttp
  }
}
