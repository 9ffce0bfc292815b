#include "crash_note.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <list>

#include "failure.h"

namespace etprof {
namespace {

// Prepared ahead: a signal handler may neither allocate nor format.
struct Note {
  std::string path;
  std::string temporary;
  std::string head;
  std::string while_stage;
  std::string tail;
};

std::atomic<const Note*> current{nullptr};

const char* signal_sentence(int signal) {
  switch (signal) {
    case SIGSEGV:
      return "The runner was stopped by SIGSEGV (invalid memory access)";
    case SIGBUS:
      return "The runner was stopped by SIGBUS (a truncated file)";
    case SIGILL:
      return "The runner was stopped by SIGILL (an instruction this CPU does not have)";
    case SIGFPE:
      return "The runner was stopped by SIGFPE (a division by zero)";
    case SIGABRT:
      return "The runner was stopped by SIGABRT (ExecuTorch aborted)";
    case SIGTERM:
      return "The runner was stopped by SIGTERM (requested from outside)";
    case SIGINT:
      return "The runner was stopped by SIGINT (requested from outside)";
    default:
      return "The runner was stopped by a signal";
  }
}

void put(int file, const char* text, size_t size) {
  while (size > 0) {
    const ssize_t done = write(file, text, size);
    if (done <= 0) {
      return;
    }
    text += done;
    size -= static_cast<size_t>(done);
  }
}

void put(int file, const std::string& text) { put(file, text.data(), text.size()); }

void on_signal(int signal) {
  const Note& note = *current.load();
  const char* sentence = signal_sentence(signal);
  const size_t length = std::strlen(sentence);
  put(STDERR_FILENO, "error: ", 7);
  put(STDERR_FILENO, sentence, length);
  put(STDERR_FILENO, note.while_stage);
  put(STDERR_FILENO, "\n", 1);
  if (!note.path.empty()) {
    const int file = open(note.temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (file >= 0) {
      put(file, note.head);
      put(file, sentence, length);
      put(file, note.while_stage);
      put(file, note.tail);
      close(file);
      rename(note.temporary.c_str(), note.path.c_str());
    }
  }
  _exit(static_cast<int>(ExitCode::kCrashed));
}

void install_handlers() {
  // A stack of its own, since an overflowing one is among the things to catch.
  static char stack[64 * 1024];
  stack_t alternate{};
  alternate.ss_sp = stack;
  alternate.ss_size = sizeof(stack);
  sigaltstack(&alternate, nullptr);
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = static_cast<int>(SA_ONSTACK | SA_RESETHAND);
  sigfillset(&action.sa_mask);
  for (const int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTERM, SIGINT}) {
    sigaction(signal, &action, nullptr);
  }
}

}  // namespace

void update_crash_note(const std::string& result_path, const char* stage, const Result& result) {
  // Earlier notes stay alive: a handler may be reading one.
  static std::list<Note> notes;
  const ResultText text = render(result);
  notes.push_back({result_path, result_path + ".part", text.head, std::string(" while ") + stage + ".", text.tail});
  const bool is_first = current.exchange(&notes.back()) == nullptr;
  if (is_first) {
    install_handlers();
  }
}

}  // namespace etprof
