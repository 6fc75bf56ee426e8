/** The program of the dashboard's page: starts the session, and renders what it allows. Bundled by tools/build/dashboard.ts. */
import { render } from 'preact'
import { Frame } from './frame.tsx'
import { Login, Unreachable } from './login.tsx'
import { startTicking } from './parts/times.tsx'
import { watchRoute } from './route.ts'
import { session, startSession } from './session.ts'
import { startTheme } from './theme.ts'

function Dashboard() {
  const state = session.value
  if (state.type === 'open') return <Frame user={state.info.user} />
  if (state.type === 'login') return <Login reason={state.reason} message={state.message} />
  if (state.type === 'gone') return <Unreachable />
  return <p class="loading">Loading …</p>
}

startTheme()
startTicking()
await startSession()
watchRoute()
render(<Dashboard />, document.getElementById('app')!)
