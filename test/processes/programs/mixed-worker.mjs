/** Works on the mixed workflows until it is killed, or asked to end. */
import { closeOn, engineOf, tell } from './child.mjs'
import { functions, workflows } from './mixed.mjs'

const engine = engineOf({ workflows, functions })
closeOn(['SIGTERM'], engine)
await engine.work({ concurrency: 10 })
tell('ready')
