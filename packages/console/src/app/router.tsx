import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  retainSearchParams,
} from '@tanstack/react-router'
import { SignIn } from '../login/sign-in.tsx'
import { BrokenScreen, NoSuchScreen } from './boundary.tsx'
import { Shell } from './shell.tsx'

/** Everything in an address is text, and what is not there is not asked for. */
type Search = Record<string, string | undefined>

const only =
  <const Names extends readonly string[]>(...names: Names) =>
  (given: Search): { [Name in Names[number]]?: string | undefined } =>
    Object.fromEntries(
      names.flatMap((name) => (given[name] === undefined || given[name] === '' ? [] : [[name, given[name]]])),
    ) as { [Name in Names[number]]?: string | undefined }

const root = createRootRoute({
  component: Outlet,
  validateSearch: only('tenant'),
  search: { middlewares: [retainSearchParams<{ tenant?: string | undefined }>(['tenant'])] },
  notFoundComponent: NoSuchScreen,
  errorComponent: BrokenScreen,
})

const login = createRoute({
  getParentRoute: () => root,
  path: '/login',
  validateSearch: only('t', 'back'),
  component: SignIn,
})

const shell = createRoute({ getParentRoute: () => root, id: 'shell', component: Shell, errorComponent: BrokenScreen })

const overview = createRoute({
  getParentRoute: () => shell,
  path: '/',
  validateSearch: only('last', 'as'),
  component: lazyRouteComponent(() => import('../overview/overview.tsx'), 'Overview'),
})

const notifications = createRoute({
  getParentRoute: () => shell,
  path: '/notifications',
  validateSearch: only(
    'status',
    'channel',
    'eventType',
    'eventId',
    'accountId',
    'fingerprint',
    'stuck',
    'stale',
    'q',
    'last',
    'group',
  ),
  component: lazyRouteComponent(() => import('../notifications/notifications.tsx'), 'Notifications'),
})

const notification = createRoute({
  getParentRoute: () => shell,
  path: '/notifications/$id',
  component: lazyRouteComponent(() => import('../notification/notification.tsx'), 'Notification'),
})

const events = createRoute({
  getParentRoute: () => shell,
  path: '/events',
  validateSearch: only('type', 'status', 'last'),
  component: lazyRouteComponent(() => import('../events/events.tsx'), 'Events'),
})

const event = createRoute({
  getParentRoute: () => shell,
  path: '/events/$id',
  component: lazyRouteComponent(() => import('../events/event.tsx'), 'Event'),
})

const sandbox = createRoute({
  getParentRoute: () => shell,
  path: '/sandbox',
  validateSearch: only('channel', 'to', 'id', 'follow', 'as'),
  component: lazyRouteComponent(() => import('../sandbox/sandbox.tsx'), 'Sandbox'),
})

const schedules = createRoute({
  getParentRoute: () => shell,
  path: '/schedules',
  validateSearch: only('view', 'from', 'days', 'status', 'eventType'),
  component: lazyRouteComponent(() => import('../schedules/schedules.tsx'), 'Schedules'),
})

const schedule = createRoute({
  getParentRoute: () => shell,
  path: '/schedules/$id',
  component: lazyRouteComponent(() => import('../schedules/schedule.tsx'), 'Schedule'),
})

const operations = createRoute({
  getParentRoute: () => shell,
  path: '/operations',
  validateSearch: only('status'),
  component: lazyRouteComponent(() => import('../operations/operations.tsx'), 'Operations'),
})

const operation = createRoute({
  getParentRoute: () => shell,
  path: '/operations/$id',
  validateSearch: only('outcome'),
  component: lazyRouteComponent(() => import('../operations/operation.tsx'), 'Operation'),
})

const templates = createRoute({
  getParentRoute: () => shell,
  path: '/templates',
  validateSearch: only('eventType', 'channel', 'locale', 'isActive'),
  component: lazyRouteComponent(() => import('../templates/templates.tsx'), 'Templates'),
})

const newTemplate = createRoute({
  getParentRoute: () => shell,
  path: '/templates/new',
  validateSearch: only('eventType', 'channel', 'locale'),
  component: lazyRouteComponent(() => import('../templates/new-template.tsx'), 'NewTemplate'),
})

const template = createRoute({
  getParentRoute: () => shell,
  path: '/templates/$id',
  validateSearch: only('tab', 'v'),
  component: lazyRouteComponent(() => import('../templates/template.tsx'), 'Template'),
})

const accounts = createRoute({
  getParentRoute: () => shell,
  path: '/accounts',
  validateSearch: only('channel', 'status'),
  component: lazyRouteComponent(() => import('../accounts/accounts.tsx'), 'Accounts'),
})

const newAccount = createRoute({
  getParentRoute: () => shell,
  path: '/accounts/new',
  validateSearch: only('channel', 'provider'),
  component: lazyRouteComponent(() => import('../accounts/new-account.tsx'), 'NewAccount'),
})

const account = createRoute({
  getParentRoute: () => shell,
  path: '/accounts/$id',
  component: lazyRouteComponent(() => import('../accounts/account.tsx'), 'Account'),
})

const catalogue = createRoute({
  getParentRoute: () => shell,
  path: '/catalogue',
  validateSearch: only('q'),
  component: lazyRouteComponent(() => import('../catalogue/catalogue.tsx'), 'CatalogueScreen'),
})

const importCatalogue = createRoute({
  getParentRoute: () => shell,
  path: '/catalogue/import',
  component: lazyRouteComponent(() => import('../catalogue/import-catalogue.tsx'), 'ImportCatalogue'),
})

const eventType = createRoute({
  getParentRoute: () => shell,
  path: '/catalogue/$name',
  component: lazyRouteComponent(() => import('../catalogue/event-type.tsx'), 'EventType'),
})

const faults = createRoute({
  getParentRoute: () => shell,
  path: '/sandbox/faults',
  component: lazyRouteComponent(() => import('../sandbox/faults.tsx'), 'Faults'),
})

const contacts = createRoute({
  getParentRoute: () => shell,
  path: '/contacts',
  validateSearch: only('q', 'tab'),
  component: lazyRouteComponent(() => import('../people/contacts.tsx'), 'Contacts'),
})

const contact = createRoute({
  getParentRoute: () => shell,
  path: '/contacts/$id',
  component: lazyRouteComponent(() => import('../people/contact.tsx'), 'Contact'),
})

const conversation = createRoute({
  getParentRoute: () => shell,
  path: '/conversations/$id',
  component: lazyRouteComponent(() => import('../people/conversation.tsx'), 'Conversation'),
})

const lists = createRoute({
  getParentRoute: () => shell,
  path: '/lists',
  component: lazyRouteComponent(() => import('../lists/lists.tsx'), 'Lists'),
})

const list = createRoute({
  getParentRoute: () => shell,
  path: '/lists/$id',
  component: lazyRouteComponent(() => import('../lists/list.tsx'), 'List'),
})

const audit = createRoute({
  getParentRoute: () => shell,
  path: '/audit',
  validateSearch: only('actor', 'action', 'target', 'last', 'all'),
  component: lazyRouteComponent(() => import('../audit/audit.tsx'), 'Audit'),
})

const keys = createRoute({
  getParentRoute: () => shell,
  path: '/keys',
  validateSearch: only('show'),
  component: lazyRouteComponent(() => import('../keys/keys.tsx'), 'Keys'),
})

const settings = createRoute({
  getParentRoute: () => shell,
  path: '/settings',
  component: lazyRouteComponent(() => import('../settings/settings.tsx'), 'Settings'),
})

const workers = createRoute({
  getParentRoute: () => shell,
  path: '/workers',
  validateSearch: only('alerts'),
  component: lazyRouteComponent(() => import('../workers/workers.tsx'), 'Workers'),
})

const entity = createRoute({
  getParentRoute: () => shell,
  path: '/entities/$type/$id',
  validateSearch: only('embed', 'event'),
  component: lazyRouteComponent(() => import('../entity/entity.tsx'), 'Entity'),
})

export const router = createRouter({
  routeTree: root.addChildren([
    login,
    shell.addChildren([
      overview,
      notifications,
      notification,
      events,
      event,
      schedules,
      schedule,
      operations,
      operation,
      templates,
      newTemplate,
      template,
      accounts,
      newAccount,
      account,
      catalogue,
      importCatalogue,
      eventType,
      sandbox,
      faults,
      contacts,
      contact,
      conversation,
      lists,
      list,
      audit,
      keys,
      settings,
      workers,
      entity,
    ]),
  ]),
  parseSearch: (text) => Object.fromEntries(new URLSearchParams(text)),
  stringifySearch: (search: Search) => {
    const given = Object.entries(search).filter((entry): entry is [string, string] => entry[1] !== undefined)
    const text = new URLSearchParams(given).toString()
    return text === '' ? '' : `?${text}`
  },
  defaultErrorComponent: BrokenScreen,
  defaultPreload: 'intent',
  scrollRestoration: true,
})

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
}
