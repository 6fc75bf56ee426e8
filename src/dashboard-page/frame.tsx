/** The frame around the views: navigation, the state of the connection, keyboard shortcuts and their help. */
import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { ViewName } from '../dashboard/protocol.ts'
import { connection, goneSinceMs, isPaused, refusal } from './live.ts'
import { Brand } from './login.tsx'
import { ObjectPage } from './object/object-page.tsx'
import { HandlersPage } from './pages/handlers.tsx'
import { ObjectsPage } from './pages/objects.tsx'
import { OverviewPage } from './pages/overview.tsx'
import { ProblemsPage } from './pages/problems.tsx'
import { RequestsPage } from './pages/requests.tsx'
import { WebhooksPage } from './pages/webhooks.tsx'
import { Dialog } from './parts/containers.tsx'
import { formatDistance } from './parts/format.ts'
import { Icon, type IconName } from './parts/icons.tsx'
import { nowMs } from './parts/times.tsx'
import { goTo, route, toHash, type ViewAddress } from './route.ts'
import { logOut } from './session.ts'
import { nextTheme, theme } from './theme.ts'

interface ViewEntry {
  readonly view: Exclude<ViewName, 'object'>
  readonly title: string
  readonly key: string
}

const entries: readonly ViewEntry[] = [
  { view: 'overview', title: 'Overview', key: 'v' },
  { view: 'objects', title: 'Objects', key: 'o' },
  { view: 'handlers', title: 'Handlers', key: 'h' },
  { view: 'requests', title: 'Requests', key: 'r' },
  { view: 'webhooks', title: 'Webhooks', key: 'w' },
  { view: 'problems', title: 'Problems', key: 'p' },
]

const pages: Readonly<Record<ViewName, (props: { readonly query: ViewAddress['query'] }) => JSX.Element>> = {
  overview: OverviewPage,
  objects: ObjectsPage,
  object: ObjectPage,
  handlers: HandlersPage,
  requests: RequestsPage,
  webhooks: WebhooksPage,
  problems: ProblemsPage,
}

export function Frame({ user }: { readonly user: string }): JSX.Element {
  const { view, query } = route.value
  const [isHelpOpen, setHelpOpen] = useState(false)
  const [isMenuOpen, setMenuOpen] = useState(false)
  const main = useRef<HTMLElement>(null)
  const Page = pages[view]
  useShortcuts(() => setHelpOpen(true))
  useEffect(() => setMenuOpen(false), [view])
  return (
    <div class="frame">
      {/* biome-ignore lint/a11y/useValidAnchor: a link to the content, without its name in the address, which names the view. */}
      <a
        class="skip"
        href="#main"
        onClick={(event) => {
          event.preventDefault()
          main.current!.focus()
        }}
      >
        Skip to the content
      </a>
      <header class="top">
        <a class="brand" href={toHash('overview')}>
          <Brand /> kopf
        </a>
        <button
          type="button"
          class="menu-button"
          aria-expanded={isMenuOpen}
          aria-controls="menu"
          onClick={() => setMenuOpen(!isMenuOpen)}
        >
          <Icon name="menu" /> Menu
        </button>
        <div id="menu" class={isMenuOpen ? 'menu open' : 'menu'}>
          <Navigation view={view} />
          <Tools user={user} onHelp={() => setHelpOpen(true)} />
        </div>
      </header>
      <main ref={main} id="main" tabIndex={-1}>
        <ConnectionBanner />
        <Page query={query} />
      </main>
      {isHelpOpen && <Help onClose={() => setHelpOpen(false)} />}
    </div>
  )
}

function Navigation({ view }: { readonly view: ViewName }): JSX.Element {
  const present = view === 'object' ? 'objects' : view
  return (
    <nav aria-label="Views">
      <ul>
        {entries.map((entry) => (
          <li key={entry.view}>
            <a href={toHash(entry.view)} aria-current={entry.view === present ? 'page' : undefined}>
              <Icon name={entry.view} /> {entry.title}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  )
}

function Tools({ user, onHelp }: { readonly user: string; readonly onHelp: () => void }): JSX.Element {
  return (
    <div class="tools">
      <ConnectionState />
      <button type="button" onClick={() => nextTheme()} title="Change the colours">
        <Icon name="theme" /> Colours: {theme.value}
      </button>
      <button type="button" onClick={onHelp}>
        <Icon name="help" /> Shortcuts
      </button>
      <button type="button" onClick={() => void logOut()} title={`Logged in as ${user}`}>
        <Icon name="leave" /> <span class="user">Log out {user}</span>
      </button>
    </div>
  )
}

const connections = {
  connecting: ['waiting', 'idle', 'Connecting'],
  live: ['handled', 'good', 'Live'],
  polling: ['handled', 'good', 'Live, every 2 s'],
  gone: ['gone', 'bad', 'No answer'],
  refused: ['failed', 'bad', 'Refused'],
  paused: ['pause', 'warn', 'Paused'],
} as const satisfies Readonly<Record<string, readonly [IconName, string, string]>>

/** The state of the connection, which is also the button that stops and continues the updates. */
function ConnectionState(): JSX.Element {
  const [icon, tone, word] = connections[connection.value]
  const paused = isPaused.value
  return (
    <button
      type="button"
      class="connection"
      aria-pressed={paused}
      title={paused ? 'Continue the updates (space)' : 'Pause the updates (space)'}
      onClick={togglePause}
    >
      <span class={`badge ${tone}`}>
        <Icon name={icon} />
        {word}
      </span>
      <span class="muted">
        <Icon name={paused ? 'play' : 'pause'} /> {paused ? 'Continue' : 'Pause'}
      </span>
    </button>
  )
}

function togglePause(): void {
  isPaused.value = !isPaused.value
}

function ConnectionBanner(): JSX.Element {
  const refused = refusal.value
  const sinceMs = goneSinceMs.value
  return (
    <div role="status">
      {sinceMs !== undefined && (
        <p class="banner bad">
          <Icon name="gone" />
          <span>
            <strong>The operator does not answer</strong> since{' '}
            {formatDistance(sinceMs, Math.max(nowMs.value, sinceMs))}. The page reconnects by itself; until then it
            shows the last state it has received.
          </span>
        </p>
      )}
      {refused !== undefined && (
        <p class="banner bad">
          <Icon name="failed" />
          <span>
            <strong>{refused.isDenied ? 'You may not see this.' : 'This view cannot be shown.'}</strong>{' '}
            {refused.message}
          </span>
        </p>
      )}
    </div>
  )
}

/** Single keys, unless the user types a text or a dialog is open. `g` waits for the key of a view. */
function useShortcuts(onHelp: () => void): void {
  useEffect(() => {
    let isGoing = false
    const listen = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || isBusy(event)) return
      const target = isGoing ? entries.find(({ key }) => key === event.key)?.view : undefined
      isGoing = event.key === 'g'
      if (target !== undefined) goTo(target)
      else if (event.key === '?') onHelp()
      else if (event.key === '/') focusFilter()
      else if (event.key === ' ') togglePause()
      else return
      event.preventDefault()
    }
    addEventListener('keydown', listen)
    return () => removeEventListener('keydown', listen)
  }, [])
}

function isBusy({ target, key }: KeyboardEvent): boolean {
  if (document.querySelector('dialog[open]') !== null) return true
  if (!(target instanceof HTMLElement)) return false
  const isText = target.matches('input, select, textarea, [contenteditable]')
  return isText || (key === ' ' && target.matches('button, a, summary, [tabindex="0"]'))
}

/** The filter of the present view; in a view without one, that of the objects. */
function focusFilter(): void {
  const filter = document.querySelector<HTMLInputElement>('[data-filter]')
  if (filter === null) {
    goTo('objects')
    setTimeout(() => document.querySelector<HTMLInputElement>('[data-filter]')?.focus())
  } else {
    filter.focus()
  }
}

function Help({ onClose }: { readonly onClose: () => void }): JSX.Element {
  const keys: readonly (readonly [string, string])[] = [
    ['/', 'Filter objects'],
    ['space', 'Pause and continue the updates'],
    ['↑ ↓', 'Previous and next object, in the list'],
    ...entries.map(({ key, title }) => [`g ${key}`, `Go to ${title}`] as const),
    ['?', 'This help'],
    ['Esc', 'Close a dialog'],
  ]
  return (
    <Dialog title="Keyboard shortcuts" onClose={onClose}>
      <dl class="keys">
        {keys.map(([key, meaning]) => (
          <div key={key}>
            <dt>
              {key.split(' ').map((one) => (
                <kbd key={one}>{one}</kbd>
              ))}
            </dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
      <form method="dialog" class="buttons">
        <button type="submit">Close</button>
      </form>
    </Dialog>
  )
}
