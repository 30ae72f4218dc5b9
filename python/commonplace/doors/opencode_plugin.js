// Plugin of commonplace for opencode: sessions are kept, and what fits a prompt is recalled.
// `commonplace install opencode` writes it anew, and `commonplace uninstall opencode` removes it.
import { spawn } from "node:child_process"
import { mkdir, rm, writeFile } from "node:fs/promises"
import { homedir } from "node:os"
import { join } from "node:path"

const COMMAND = []
const DATA = process.env.XDG_DATA_HOME || join(homedir(), ".local", "share")
const FOLDER = join(DATA, "opencode", "commonplace")
const HOOK_TIMEOUT = 10_000

// Gives the hook an event. Whatever goes wrong, opencode goes on.
function call(event) {
  return new Promise((resolve) => {
    let out = ""
    let wrong = ""
    const child = spawn(COMMAND[0], COMMAND.slice(1), { timeout: HOOK_TIMEOUT })
    child.on("error", () => resolve({ context: "", done: false }))
    child.stdin.on("error", () => {})
    child.stdout.setEncoding("utf8").on("data", (data) => (out += data))
    child.stderr.on("data", (data) => (wrong += data))
    child.on("close", (code) => {
      let context = ""
      try {
        context = JSON.parse(out).hookSpecificOutput.additionalContext
      } catch {
        // it has nothing to say
      }
      resolve({ context, done: code === 0 && !wrong })
    })
    child.stdin.end(JSON.stringify(event))
  })
}

export const Commonplace = async ({ client, directory }) => {
  // of each session why it starts next; "" once it has started
  const starts = new Map()
  const transcript = (id) => join(FOLDER, `${id}.json`)

  function event(name, id, more) {
    const where = { session_id: id, cwd: directory, transcript_path: transcript(id) }
    return { hook_event_name: name, ...where, ...more }
  }

  // Returns what opencode knows of a session; nothing of one that a subagent has.
  async function session(id) {
    const { data } = await client.session.get({ path: { id } })
    return data && !data.parentID ? data : undefined
  }

  async function recall(id, output) {
    const last = output.parts.at(-1)
    if (!last || !(await session(id))) return
    const typed = output.parts.filter((part) => part.type === "text" && !part.synthetic)
    const prompt = typed.map((part) => part.text).join("\n")
    const source = starts.get(id) ?? "startup"
    starts.set(id, "")
    const began = source && (await call(event("SessionStart", id, { source }))).context
    const fits = (await call(event("UserPromptSubmit", id, { prompt }))).context
    const text = [began, fits].filter(Boolean).join("\n\n")
    if (!text) return
    const { messageID, sessionID } = last
    // parts are read in the order of their ids
    output.parts.push({ id: `${last.id}0`, messageID, sessionID, type: "text", synthetic: true, text })
  }

  async function keep(id, name) {
    const info = await session(id)
    if (!info) return
    const { data: messages } = await client.session.messages({ path: { id } })
    const path = transcript(id)
    await mkdir(FOLDER, { recursive: true, mode: 0o700 })
    await writeFile(path, JSON.stringify({ info, messages }, null, 2), { mode: 0o600 })
    // what could not be taken in is left for the next session
    if ((await call(event(name, id))).done) await rm(path, { force: true })
  }

  const running = new Set()
  function begin(id, name) {
    const kept = keep(id, name).catch(() => {})
    running.add(kept)
    return kept.finally(() => running.delete(kept))
  }

  return {
    // opencode does not wait for what an event began, but for this; not for ever
    dispose: async () => {
      const late = new Promise((resolve) => setTimeout(resolve, HOOK_TIMEOUT).unref())
      await Promise.race([Promise.all(running), late])
    },
    "chat.message": async ({ sessionID }, output) => {
      await recall(sessionID, output).catch(() => {})
    },
    event: async ({ event: { type, properties } }) => {
      if (type === "session.compacted") {
        starts.set(properties.sessionID, "compact")
        await begin(properties.sessionID, "PostCompact")
      } else if (type === "session.idle") {
        await begin(properties.sessionID, "Stop")
      }
    },
  }
}
