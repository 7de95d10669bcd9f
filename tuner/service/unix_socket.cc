#include "tuner/service/unix_socket.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace lathe {

bool SomebodyListens(const std::string& unix_path) {
  sockaddr_un address{};
  if (unix_path.size() >= sizeof(address.sun_path)) return false;
  address.sun_family = AF_UNIX;
  unix_path.copy(address.sun_path, unix_path.size());
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  const bool answers = connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  close(fd);
  return answers;
}

}  // namespace lathe
