/** Finds the browser for the tests of the site: `KOPF_CHROMIUM`, or the Chromium of the system. */
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'

const places = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']

/** Installs Chromium with apt-get if none is found and the process runs as root, as in a container for tests. */
export function findChromium(): string {
  const named = process.env['KOPF_CHROMIUM']
  if (named !== undefined) {
    if (existsSync(named)) return named
    throw new Error(`Cannot look at the site: KOPF_CHROMIUM is "${named}", and there is no such file`)
  }
  const found = places.find((place) => existsSync(place))
  if (found !== undefined) return found
  if (process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get')) {
    throw new Error(
      'Cannot look at the site: there is no Chromium; install it (Debian: apt-get install chromium), or say where it is by KOPF_CHROMIUM',
    )
  }
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  execFileSync('apt-get', ['update', '-q'], { env, stdio: 'ignore' })
  const packages = ['chromium', 'fonts-dejavu-core']
  execFileSync('apt-get', ['install', '-qy', '--no-install-recommends', ...packages], { env, stdio: 'ignore' })
  return places[0]!
}
